public import PushCore

extension CampaignRecord {
  /// How the campaign is sent.
  public struct Delivery: Sendable {
    /// Seconds that the results stay after the campaign's end.
    public var timeToLive = Campaign.defaultTimeToLive
    /// Until when pushes may be delivered, in UNIX seconds, fixed when the campaign started; 0 for one attempt.
    public var expiration: Int?
    /// The maximum rate; `nil` for no limit.
    public var rate: CampaignRate?
  }

  /// The resumes of the campaign by a person.
  public struct Resumes: Sendable {
    /// How often the campaign was resumed.
    public var round = 0
    /// Whether the last resume allows all prunes and quarantines, whatever their share.
    public var isUnguarded = false
  }

  /// The approval of the campaign.
  public struct Approval: Sendable {
    /// Whether the campaign needs an approval that nobody has given.
    public var isNeeded = false
    /// Users and pushes, counted when the campaign was found to need approval; `nil` if they were not counted.
    public var estimate: Reached?
    /// Who submitted the campaign, if it was submitted by a command or the API.
    public var submittedBy: String?
    /// Who approved the campaign, if it needed approval.
    public var approvedBy: String?
  }

  /// The slices of the campaign.
  public struct Slices: Sendable, Equatable {
    /// Finished slices.
    public var finished = 0
    /// All slices.
    public var total = 0
    /// Slices whose number of targets is known: the finished ones and, with `show`, those that are sealed.
    public var sealed = 0

    static func += (sum: inout Slices, part: Slices) {
      sum.finished += part.finished
      sum.total += part.total
      sum.sealed += part.sealed
    }
  }

  /// The state of the store when the campaign began.
  public struct Placement: Sendable {
    /// The number of partitions that the store had.
    var partitions = 0
    /// The partitions in which the campaign has no slice.
    var absent = PartitionBitmap([])
    /// Whether the partitions and definitions are fixed.
    public var isNarrowed = false
    /// With the job: the segments that are rules and on which the audience depends.
    public internal(set) var definitions = SegmentDefinitions()
    /// Registration events that were queued before the campaign and were not applied; 0 if it waited for all of them.
    public var overtookEvents = 0
  }

  /// The times of the campaign, in ms since the epoch.
  public struct Times: Sendable {
    public var createdAt = 0
    /// When it was to begin; `nil` for at once.
    public var sendAt: Int?
    /// When its first slice was dequeued.
    public var startedAt: Int?
    public var finishedAt: Int?
    /// With `show`: when the next of the targets that wait for their own time may be sent.
    public var next: Int?
  }

  /// The parts and stages of the campaign.
  public struct Staging: Sendable {
    /// The ids of the parts, in the order of the stages; none for a campaign that is sent itself, and for a part.
    public var partIDs: [String] = []
    /// The id of the campaign that this one is a part of; `nil` for a whole campaign.
    public var whole: String?
    /// Whether this is a part of a stage that has not begun.
    public var isGated = false
    /// The place of the stage that began last, from 0; `nil` for a campaign without parts.
    public var current: Int?
    /// The place of the stage whose gate has paused the campaign; `nil` for none.
    public var verdict: Int?
    /// The place of the stage whose gate a person has overruled; `nil` for none.
    var overruled: Int?
    /// The place of the variant that a person or a gate has chosen; `nil` for none.
    public var winner: Int?
    /// The place of the variant that all users of this part get; `nil` where each draws one.
    public var variant: Int?
    /// When the stage began, in ms since the epoch; `nil` for the first stage, and for a campaign without stages.
    var begunAt: Int?
  }
}
