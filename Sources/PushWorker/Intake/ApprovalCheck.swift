import CampaignStore
import PushCore

/// Decides whether a campaign needs approval because of its number of pushes.
///
/// A worker decides when it takes in the job, so that a person can approve a scheduled campaign before its time. The
/// audience may grow until the campaign begins: users join a segment, or an earlier campaign reaches its users. A worker
/// therefore decides again before it expands a campaign, or a later stage of it.
struct ApprovalCheck: Sendable {
  /// Why a campaign needs approval.
  struct Need: Sendable, Equatable {
    /// For the approver.
    var reason: String
    /// Users and pushes; `nil` if they were not counted.
    var reached: Reached?
  }

  /// Divisor of the approval limit: a campaign is counted if its bound exceeds the limit divided by this number. The
  /// bound comes from samples and from the devices of an average user, but the users of one audience may have more
  /// devices. Counting every job would cost a job for a single user four round trips.
  private static let estimateMargin = 10
  /// Maximum number of targets, by the sizes of the sets, that a worker counts user by user. The worker takes in no
  /// other job during the count, so the count is bounded.
  private static let mostCounted = 1_000_000
  /// Time in ms after its intake in which a campaign is not counted again. Most campaigns begin within this time.
  static let validity = 60_000

  let store: CampaignStore
  let apps: JobApps
  /// The apps by name, with their limits for approval.
  let channels: [String: AppChannel]

  /// Returns why a campaign needs approval; `nil` for a campaign that needs none.
  ///
  /// The sizes of the sets give a bound, which comes from samples. If the bound is more than a tenth of the limit, the
  /// worker counts user by user, as `submit --estimate` does. For an audience above ``mostCounted``, the bound decides
  /// without a count.
  ///
  /// - Parameters:
  ///   - campaign: the whole campaign.
  ///   - job: its job, with the content of its templates.
  @concurrent func need(of campaign: Campaign, job: [UInt8]) async throws -> Need? {
    guard let channel = channels[campaign.app], let most = channel.approvalAbove else { return nil }
    // The estimate needs the definitions of segments that are named expressions.
    var known = campaign
    known.recipients.definitions = try await store.queue.check(known)
    return try await need(of: known, job, channel, above: most)
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
  @concurrent func needBeforeExpansion(of id: String) async throws -> Need? {
    let whole = CampaignID(id).whole
    guard let (record, job) = try await store.campaigns.findWithJob(whole), record.approval.approvedBy == nil,
      let channel = channels[record.app], let most = channel.approvalAbove
    else { return nil }
    // A job that this worker can't read was readable for the worker that took it in, which has decided.
    guard var campaign = try? await record.read(job, apps) else { return nil }
    do {
      do {
        campaign.recipients.definitions = try await store.queue.check(campaign)
      } catch let error as StoreError where error.code == .invalid {
        // A rule that no longer exists stays as it was at the intake.
      }
      return try await need(of: campaign, job, channel, above: most)
    } catch let error as StoreError where !error.affectsAllCampaigns {
      return Need(
        reason: "needs approval: its targets can't be counted, because \(error.message): "
          + "carillon campaign approve \(whole) --by NAME")
    }
  }

  private func need(
    of campaign: Campaign, _ job: [UInt8], _ channel: AppChannel, above most: Int
  ) async throws -> Need? {
    let sizes = try await store.limits.estimate(of: campaign).targets
    // Each companion may reach every user again.
    let bound = sizes * (1 + campaign.companions.count)
    guard bound > most / Self.estimateMargin else { return nil }
    let reached = sizes <= Self.mostCounted ? try await count(campaign, job, channel) : nil
    let targets = reached?.targets ?? bound
    guard targets > most else { return nil }
    return Need(
      reason: "needs approval: \(reached == nil ? "at most" : "about") \(targets) targets, and app \(campaign.app) "
        + "requires approval above \(most): carillon campaign approve \(campaign.id) --by NAME",
      reached: reached)
  }

  /// Counts the pushes of a campaign and its companions; `nil` if its audience refers to a campaign that has not ended,
  /// or to a segment that no longer exists.
  private func count(_ campaign: Campaign, _ job: [UInt8], _ channel: AppChannel) async throws -> Reached? {
    let start = try await store.time() / 1000
    do {
      let filters = try CampaignJob.legs(of: campaign, job, apps).map { try channel.filter(of: $0, start: start) }
      var of = try CampaignJob.companions(of: campaign, job, apps).map {
        (campaign: $0, filter: try channel.filter(of: $0, start: start))
      }
      of.insert((campaign, DeviceFilter(joining: filters[0], Array(filters.dropFirst()))), at: 0)
      return try await store.audiences.count(of)
    } catch let error as StoreError where error.code == .invalid {
      return nil
    }
  }
}
