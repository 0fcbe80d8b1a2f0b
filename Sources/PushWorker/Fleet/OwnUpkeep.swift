import CampaignStore

/// Looks after what this worker has beside its slices: references in its own list, declined campaigns, backlogs whose time has passed,
/// prunes to deliver, and the reasons for which campaigns wait.
final class OwnUpkeep: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let campaigns: CampaignTable
  private let references: OwnReferences
  private let takeover: SliceTakeover
  private let declined: DeclinedCampaigns
  private let sender: PushSender
  private let feedback: FeedbackDelivery
  private let waiting: WaitingReporter
  private let failover: FailoverService

  init(
    _ environment: WorkerEnvironment, slices: SliceTable, campaigns: CampaignTable, references: OwnReferences,
    takeover: SliceTakeover, declined: DeclinedCampaigns, sender: PushSender, feedback: FeedbackDelivery,
    waiting: WaitingReporter, failover: FailoverService
  ) {
    self.environment = environment
    self.slices = slices
    self.campaigns = campaigns
    self.references = references
    self.takeover = takeover
    self.declined = declined
    self.sender = sender
    self.feedback = feedback
    self.waiting = waiting
    self.failover = failover
  }

  /// Whether nothing is in hand, and nothing left to look after.
  var isIdle: Bool {
    slices.taken.isEmpty && campaigns.isIdle && declined.isIdle && failover.isIdle && feedback.isIdle
      && references.isIdle && waiting.isIdle
  }

  /// Does what is due, if anything is.
  func run() async throws {
    guard !isIdle else { return }
    let listed = try await sharedStore.processing(of: configuration.name)
    try await takeover.takeOver(
      from: configuration.name, only: references.leftovers(listed: listed, taken: slices.taken))
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
