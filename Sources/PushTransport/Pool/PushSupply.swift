internal import PushCore

/// Source of pushes for engines, and receiver of their completions; the pool implements it. Engines call it on their
/// own queues, so it must not block.
protocol PushSupply: AnyObject, Sendable {
  /// Returns at most `count` pushes that share headers. Every returned push completes exactly once.
  func take(upTo count: Int, for engine: Int) -> PushSupplyReply
  /// Returns the present authorization; `nil` while there is none. The supply wakes every engine when an authorization
  /// is available.
  func authorization() -> PushAuthorization?
  /// Reason why the credential is stopped; `nil` if it is not.
  var stopped: ReasonCode? { get }
  /// Returns whether the engine may open a connection for waiting pushes; `nil` if no push waits. In that case, the
  /// supply wakes the engine when pushes arrive.
  func mayOpen(_ engine: Int) -> ReconnectBudget.Decision?
  /// Returns whether the engine's new connection may use an address; called for one address after the other.
  func mayConnect(_ engine: Int, to address: String) -> Bool
  /// Records an event of the engine's connection.
  func record(_ event: ConnectionEvent, of engine: Int)
  /// Delivers completions in batches.
  ///
  /// - Parameters:
  ///   - window: present window of the engine's connection, for reports.
  ///   - times: latencies of the answers in the batch.
  func complete(_ completions: [PushCompletion], by engine: Int, window: Int, times: AnswerTimes)
}

/// Reply to an engine that asks for pushes.
enum PushSupplyReply: Sendable {
  /// Pushes to send.
  case pushes(PushBatch.Part)
  /// There is nothing that the engine may send. The supply wakes the engine when new pushes arrive.
  case nothing
  /// There is nothing to send for this number of nanoseconds. The engine must ask again after that.
  case wait(UInt64)
}

extension PushBatch {
  /// Range of pushes of a batch; shares the batch's storage.
  struct Part: Sendable {
    var batch: PushBatch
    var range: Range<Int>
  }
}
