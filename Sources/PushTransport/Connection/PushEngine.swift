/// Engine: one connection to the service at a time and everything on it, on its own serial queue.
///
/// This is the boundary between the pool and a transport. An engine manages its stream limit: it takes work from its
/// ``PushSupply`` when it has room. So no push waits inside an engine, and pushes that were not taken can still be
/// taken back.
public protocol PushEngine: AnyObject, Sendable {
  /// Notifies the engine that the supply has work again, after it had none or refused. Cheap; may be called from any
  /// thread.
  func wake()
  /// Notifies the engine that the whole service has a problem: the stream limit begins at one again. May be called from
  /// any thread.
  func startSmall()
  /// Stops taking pushes, waits for answers to the pushes in flight, and closes the connections. Pushes without an
  /// answer after `deadline` nanoseconds complete as ambiguous. Idempotent; returns when nothing is left and every
  /// completion was delivered.
  func drain(deadline: UInt64) async
}
