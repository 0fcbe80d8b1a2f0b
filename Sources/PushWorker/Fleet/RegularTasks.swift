import CampaignStore
import EventLoop

/// Runs the worker's regular tasks. The tasks:
/// - give back slice references that no task handles;
/// - repeat to Redis which campaigns the worker declines;
/// - take back waiting pushes whose deadline has passed;
/// - deliver prunes;
/// - publish why campaigns wait.
struct RegularTasks: WorkerPart {
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

  /// Whether the worker holds no slice and has no regular task.
  var isIdle: Bool {
    slices.taken.isEmpty && campaigns.isIdle && declined.isIdle && failover.isIdle && feedback.isIdle
      && references.isIdle && waiting.isIdle
  }

  /// Runs the tasks that are due, if any.
  func run() async throws {
    guard !isIdle else { return }
    let listed = try await sharedStore.slices.processing(of: environment.configuration.name)
    try await takeover.takeOver(
      from: environment.configuration.name, only: references.leftovers(listed: listed, taken: slices.taken))
    await declined.renewAll()
    sender.expireBacklogs()
    sender.renewBacklogs(EventLoop.now)
    await feedback.deliver()
    do {
      try await waiting.report()
    } catch {
      // A failure has no other effect: the reasons are only information for operators.
      log.report("could not record why campaigns wait", error)
    }
  }
}
