import CampaignStore
import PushCore

/// Decides whether a campaign needs approval because of its number of pushes.
///
/// A worker decides when it takes in the job, so that a person can approve a scheduled campaign before its start. The
/// audience may grow until the campaign begins: users join a segment, or an earlier campaign reaches its users. A
/// worker therefore decides again before it expands a campaign, or a later stage of it.
struct ApprovalCheck: Sendable {
  /// Why a campaign needs approval.
  struct ApprovalReason: Sendable, Equatable {
    /// Text for the approver.
    var reason: String
    /// Numbers of users and pushes of the campaign; `nil` if they can't be counted.
    var reached: Reached?
  }

  /// Divisor of the approval limit: the worker counts the targets of a campaign only if their estimated number exceeds
  /// the limit divided by this number. The estimate comes from samples and from the devices of an average user, but the
  /// users of one audience may have more devices. If the worker counted every job, a job for a single user would cost
  /// four round trips.
  private static let estimateMargin = 10
  /// The divisor for a large audience. It is smaller, because the samples of a large audience are accurate, and a count
  /// delays the campaign by seconds.
  private static let largeMargin = 2
  /// Time in ms after the intake of a campaign during which a worker does not count its targets again. Most campaigns
  /// begin within this time.
  static let validity = 60_000

  let store: CampaignStore
  let apps: JobApps
  /// The apps by name, with their limits for approval.
  let channels: [String: AppChannel]
  /// Estimated number of targets above which an audience is large (``WorkerConfiguration``).
  let largeAudience: Int
  /// Whether the check may count a large audience, which takes seconds. If not, it throws ``JobIntake/TakesLong``.
  var mayTakeLong = true
  /// Called before each partition of a count. It throws to end the count.
  var proceed: @Sendable () throws -> Void = {}

  /// Returns why a campaign needs approval; `nil` for a campaign that needs none.
  ///
  /// The worker first estimates the number of targets from samples. If the campaign may need approval by this estimate,
  /// the worker counts user by user, as `submit --estimate` does. The count decides.
  ///
  /// - Parameters:
  ///   - campaign: the whole campaign.
  ///   - job: its job, with the content of its templates.
  @concurrent func reason(of campaign: Campaign, job: [UInt8]) async throws -> ApprovalReason? {
    guard let channel = channels[campaign.app], let most = channel.approvalAbove else { return nil }
    // The estimate needs the definitions of the segments that are defined by an expression.
    var known = campaign
    known.recipients.definitions = try await store.queue.check(known)
    return try await reason(of: known, job, channel, above: most)
  }

  /// Returns whether the audience of a campaign may have grown since its intake. If not, the decision at the intake is
  /// still valid.
  ///
  /// - Parameters:
  ///   - campaign: the campaign, or the part that is about to be expanded.
  ///   - createdAt: the time of the intake, in ms since the epoch.
  ///   - now: ms since the epoch.
  static func mayHaveGrown(_ campaign: Campaign, createdAt: Int, now: Int) -> Bool {
    guard campaign.isSearchedFor else { return false }
    return now - createdAt >= validity || !campaign.isFirstStage || !campaign.earlier.isEmpty
  }

  /// Returns why a campaign that is about to be expanded needs approval; `nil` if it needs none or has been approved.
  ///
  /// - Parameter id: the id of the campaign or of a part of it.
  @concurrent func reasonBeforeExpansion(of id: String) async throws -> ApprovalReason? {
    let whole = CampaignID(id).whole
    guard let (record, job) = try await store.campaigns.findWithJob(whole), record.approval.approvedBy == nil,
      let channel = channels[record.app], let most = channel.approvalAbove
    else { return nil }
    // If this worker can't read the job, the decision of the worker that took it in stays valid.
    guard var campaign = try? await record.read(job, apps) else { return nil }
    do {
      do {
        campaign.recipients.definitions = try await store.queue.check(campaign)
      } catch let error as StoreError where error.code == .invalid {
        // If a segment no longer exists, the check uses its definition from the intake.
      }
      return try await reason(of: campaign, job, channel, above: most)
    } catch let error as StoreError where !error.affectsAllCampaigns {
      return Self.uncounted(error, of: whole)
    }
  }

  private func reason(
    of campaign: Campaign, _ job: [UInt8], _ channel: AppChannel, above most: Int
  ) async throws -> ApprovalReason? {
    let sizes = try await store.limits.estimate(of: campaign).targets
    // Each companion (refresh in `also`) may reach every user again.
    let bound = sizes * (1 + campaign.companions.count)
    let isLarge = sizes > largeAudience
    guard bound > most / (isLarge ? Self.largeMargin : Self.estimateMargin) else { return nil }
    guard mayTakeLong || !isLarge else { throw JobIntake.TakesLong() }
    let reached: Reached
    do {
      reached = try await count(campaign, job, channel)
    } catch let error as StoreError where error.code == .invalid {
      // The recipients of an earlier campaign are not final yet. A worker counts again before the campaign begins.
      guard bound > most else { return nil }
      return Self.uncounted(error, of: campaign.id)
    }
    guard reached.targets > most else { return nil }
    return ApprovalReason(
      reason: "needs approval: \(reached.targets) targets when counted, and app \(campaign.app) "
        + "requires approval above \(most): carillon campaign approve \(campaign.id) --by NAME",
      reached: reached)
  }

  private static func uncounted(_ error: StoreError, of id: String) -> ApprovalReason {
    ApprovalReason(
      reason: "needs approval: its targets can't be counted, because \(error.message): "
        + "carillon campaign approve \(id) --by NAME")
  }

  /// Counts the pushes of a campaign and its companions.
  ///
  /// - Throws: ``StoreError`` `invalid` if its audience refers to a campaign that has not ended, or to a segment that
  ///   no longer exists.
  private func count(_ campaign: Campaign, _ job: [UInt8], _ channel: AppChannel) async throws -> Reached {
    let start = try await store.time() / 1000
    let (legs, companions) = try await LargeJobThread.read(job.count) { [apps] in
      Result { () throws(JobError) in
        (try CampaignJob.legs(of: campaign, job, apps), try CampaignJob.companions(of: campaign, job, apps))
      }
    }.get()
    let filters = try legs.map { try channel.filter(of: $0, start: start) }
    let whole = (campaign: campaign, filter: DeviceFilter(joining: filters[0], Array(filters.dropFirst())))
    return try await store.audiences.count(
      [whole] + companions.map { (campaign: $0, filter: try channel.filter(of: $0, start: start)) }, proceed)
  }
}
