/// Ends the work of a worker: nothing new is taken, and after the deadline nothing is waited for.
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

  /// ns for connections to close when a worker ends, and as long again for an engine that hangs. Every push was answered before:
  /// what is left are orphans, whose slices are others' or in doubt in the ledger.
  private static let closingTime: UInt64 = 1_000_000_000

  /// Begins to stop. Idempotent.
  func begin() {
    guard environment.life.stop() else { return }
    log.tell(.draining)
    for session in slices.sessions { recorder.withdraw(session, .leave) }
    wakeClaims()
    intake.stop()
  }

  /// Gives up what is under way, as the deadline of a stop has passed: whatever is unanswered or can't be recorded stays in doubt
  /// in the ledger.
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
    // After the deadline of a stop nothing is waited for.
    await routes.drain(deadline: life.isAbandoning ? 0 : Self.closingTime, patience: Self.closingTime)
  }
}
