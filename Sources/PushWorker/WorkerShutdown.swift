/// Ends the work of a worker. From ``begin()`` on, the worker takes nothing new. From ``abandon()`` on, it waits for no
/// answers.
final class WorkerShutdown: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let recorder: TargetRecorder
  private let intake: JobIntakeLoop
  private let dispatcher: CreditDispatcher
  private let routes: PushRouteTable

  init(
    _ environment: WorkerEnvironment, slices: SliceTable, recorder: TargetRecorder, intake: JobIntakeLoop,
    dispatcher: CreditDispatcher, routes: PushRouteTable
  ) {
    self.environment = environment
    self.slices = slices
    self.recorder = recorder
    self.intake = intake
    self.dispatcher = dispatcher
    self.routes = routes
  }

  /// Time in ns that connections have to close when a worker ends. An engine that has not closed its connection by then
  /// gets the same time again. When the connections begin to close, all pushes of held slices have been answered. Other
  /// pushes belong to released slices: other workers have these slices, or the targets are in doubt in Redis.
  private static let closingTime: UInt64 = 1_000_000_000

  /// Starts the shutdown. Idempotent.
  func begin() {
    guard environment.life.stop() else { return }
    log.write(.draining)
    for session in slices.sessions { recorder.stopSending(session, .leave) }
    wakeClaims()
    intake.stop()
  }

  /// Abandons the pushes in flight, because the deadline of a stop has passed. In Redis, targets stay in doubt if they
  /// are unanswered or their outcomes can't be recorded.
  func abandon() {
    environment.life.abandon()
    for session in slices.sessions {
      session.pending.unanswered = 0
      session.wake()
    }
  }

  /// Closes all connections to push services.
  func closeConnections() async {
    dispatcher.stopTicking()
    routes.reportConnections(to: log, isLast: true)
    // After the deadline of a stop, connections get no time to close.
    await routes.drain(deadline: life.isAbandoning ? 0 : Self.closingTime, timeout: Self.closingTime)
  }
}
