public import PushCore

/// The fields of a campaign's record, in groups.
extension CampaignRecord {
  /// The expiry and the rate of the campaign.
  public struct Delivery: Sendable {
    /// Seconds that the campaign's results stay after its end.
    public var timeToLive = Campaign.defaultTimeToLive
    /// Expiration of the pushes in UNIX seconds, fixed at the campaign's start; 0 if the push service makes only one
    /// attempt.
    public var expiration: Int?
    /// Rate at which the campaign may be sent; `nil` for no limit.
    public var rate: CampaignRate?
  }

  /// The resumes of the campaign by a person.
  public struct Resumes: Sendable {
    /// Number of resumes.
    public var round = 0
    /// Whether workers carry out all prunes and quarantines, without a limit for their share, because the last resume
    /// requested this.
    public var isUnguarded = false
  }

  /// The approval of the campaign.
  public struct Approval: Sendable {
    /// Whether the campaign needs an approval that is still missing.
    public var isNeeded = false
    /// Users and pushes, counted when the campaign was found to need approval; `nil` if they were not counted.
    public var estimate: Reached?
    /// Person who submitted the campaign, as the submitting call recorded it; `nil` if unknown.
    public var submittedBy: String?
    /// Person who approved the campaign, if it needed approval.
    public var approvedBy: String?
  }

  /// Numbers of slices of the campaign.
  public struct Slices: Sendable, Equatable {
    /// Number of finished slices.
    public var finished = 0
    /// Number of all slices.
    public var total = 0
    /// Number of slices with a known number of targets: the finished slices and, in a record of ``Campaigns/show(_:)``,
    /// the sealed ones.
    public var sealed = 0

    static func += (sum: inout Slices, part: Slices) {
      sum.finished += part.finished
      sum.total += part.total
      sum.sealed += part.sealed
    }
  }

  /// The partitions and segments that the campaign uses, and the state of the store at its start.
  public struct Placement: Sendable {
    /// Number of partitions of the store at the campaign's start.
    var partitions = 0
    /// Partitions in which the campaign has no slice.
    var absent = PartitionBitmap([])
    /// Whether the partitions and definitions can't change any more.
    public var isNarrowed = false
    /// Definitions, at the campaign's start, of the segments on which the audience depends. Empty unless the record was
    /// read with its job.
    public internal(set) var definitions = SegmentDefinitions()
    /// Number of registration events that were queued before the campaign and were not applied at its start; 0 if the
    /// campaign waited for all of them.
    public var eventsNotApplied = 0
  }

  /// The times of the campaign, in ms since the epoch.
  public struct Times: Sendable {
    public var createdAt = 0
    /// Scheduled start; `nil` for an immediate start.
    public var sendAt: Int?
    /// Time at which the first slice was dequeued.
    public var startedAt: Int?
    public var finishedAt: Int?
    /// In a record of ``Campaigns/show(_:)``: the next send time of targets with their own send times.
    public var next: Int?
  }

  /// The parts and stages of the campaign.
  public struct Staging: Sendable {
    /// Ids of the parts, in the order of the stages; empty for a campaign without parts, and for a part.
    public var partIDs: [String] = []
    /// Id of the campaign that this one is a part of; `nil` for a whole campaign.
    public var whole: String?
    /// Whether this is a part of a stage that has not begun.
    public var isGated = false
    /// Place of the stage that began last, from 0; `nil` for a campaign without parts.
    public var current: Int?
    /// Place of the stage whose gate has paused the campaign; `nil` for none.
    public var verdict: Int?
    /// Place of the stage whose gate a person has overridden; `nil` for none.
    var overridden: Int?
    /// Place of the variant that a person or a gate has chosen; `nil` for none.
    public var winner: Int?
    /// Place of the variant that all users of this part get; `nil` if each user is assigned one.
    public var variant: Int?
    /// Start of the stage in ms since the epoch; `nil` for the first stage, and for a campaign without stages.
    var begunAt: Int?
  }
}
