import CampaignStore

/// Looks after what this worker has beside its slices: references in its own list, declined campaigns, backlogs whose time has passed,
/// prunes to deliver, and the reasons for which campaigns wait.
struct OwnUpkeep: WorkerPart {
  let environment: WorkerEnvironment
  let slices: SliceTable
  let campaigns: CampaignTable
  let references: OwnReferences
  let takeover: SliceTakeover
  let declined: DeclinedCampaigns
  let sender: PushSender
  let feedback: FeedbackDelivery
  let waiting: WaitingReporter
  let failover: FailoverService

  /// Whether nothing is in hand, and nothing left to look after.
  var isIdle: Bool {
    slices.taken.isEmpty && campaigns.isIdle && declined.isIdle && failover.isIdle && feedback.isIdle
      && references.isIdle && waiting.isIdle
  }

  /// Does what is due, if anything is.
  func run() async throws {
    guard !isIdle else { return }
    let listed = try await sharedStore.slices.processing(of: environment.configuration.name)
    try await takeover.takeOver(
      from: environment.configuration.name, only: references.leftovers(listed: listed, taken: slices.taken))
    await declined.affirmAll()
    sender.expireBacklogs()
    await feedback.deliver()
    do {
      try await waiting.report()
    } catch {
      // A remark for people: nothing else waits for it.
      log.report("could not say why campaigns wait", error)
    }
  }
}
