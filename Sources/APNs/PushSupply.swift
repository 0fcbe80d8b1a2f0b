internal import PushCore

/// Where engines get their work and deliver what became of it. Called on the engines' own queues; must not block.
protocol PushSupply: AnyObject, Sendable {
  /// Hands out at most `count` pushes that share headers, or `nil` when there are none now: then the engine is woken
  /// when there are. Every push handed out completes exactly once.
  func take(upTo count: Int, for engine: Int) -> PushBatch.Part?
  /// With what to send now, or `nil` while there is nothing: then every engine is woken when there is.
  func authorization() -> PushAuthorization?
  /// Why nothing is sent with the credential any more; `nil` while it is.
  var stopped: Reason? { get }
  /// Whether the engine may open a connection for what waits; `nil` when nothing does: then it is woken.
  func mayOpen(_ engine: Int) -> ReconnectBudget.Decision?
  /// What happened on the engine's connection.
  func note(_ event: ConnectionEvent, of engine: Int)
  /// Delivers completions, in batches.
  func complete(_ completions: [PushCompletion], by engine: Int)
}

extension PushBatch {
  /// A run of pushes of a batch; shares the batch's storage.
  struct Part: Sendable {
    var batch: PushBatch
    var range: Range<Int>
  }
}
