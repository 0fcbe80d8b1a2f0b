internal import PushCore

/// Where engines get their work and deliver what became of it. Called on the engines' own queues; must not block.
protocol PushSupply: AnyObject, Sendable {
  /// Hands out at most `count` pushes that share headers. Every push handed out completes exactly once.
  func take(upTo count: Int, for engine: Int) -> PushSupplied
  /// With what to send now, or `nil` while there is nothing: then every engine is woken when there is.
  func authorization() -> PushAuthorization?
  /// Why nothing is sent with the credential any more; `nil` while it is.
  var stopped: ReasonCode? { get }
  /// Whether the engine may open a connection for what waits; `nil` when nothing does: then it is woken.
  func mayOpen(_ engine: Int) -> ReconnectBudget.Decision?
  /// Whether the connection that the engine is opening may go to an address; it is told of one after the other.
  func mayConnect(_ engine: Int, to address: String) -> Bool
  /// What happened on the engine's connection.
  func note(_ event: ConnectionEvent, of engine: Int)
  /// Delivers completions, in batches.
  ///
  /// - Parameters:
  ///   - window: how many may be on their way on the engine's connection now, for whoever looks.
  ///   - times: how long the answers among them took.
  func complete(_ completions: [PushCompletion], by engine: Int, window: Int, times: AnswerTimes)
}

/// What an engine that asks for pushes gets.
enum PushSupplied: Sendable {
  /// These.
  case pushes(PushBatch.Part)
  /// None that it may send: it is woken when there are.
  case nothing
  /// None for so many nanoseconds: then it is to ask again.
  case wait(UInt64)
}

extension PushBatch {
  /// A run of pushes of a batch; shares the batch's storage.
  struct Part: Sendable {
    var batch: PushBatch
    var range: Range<Int>
  }
}
