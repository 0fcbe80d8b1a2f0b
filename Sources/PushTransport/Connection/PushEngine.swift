/// One connection to the service and everything on it, on a serial queue of its own.
///
/// The seam between the pool and a transport. An engine owns its stream limit: it takes work from its ``PushSupply``
/// when it has room for it, so nothing ever waits inside an engine, and what has not been taken can still be taken back.
public protocol PushEngine: AnyObject, Sendable {
  /// Says that the supply has work again, after it had none or refused. Cheap; may be called from any thread.
  func wake()
  /// Says that the service as a whole is in trouble: the stream limit begins at one again. May be called from any thread.
  func startSmall()
  /// Takes no more pushes, lets what is in flight be answered, and closes. What is unanswered after `deadline`
  /// nanoseconds completes as ambiguous. Idempotent; returns when nothing is left and every completion was delivered.
  func drain(deadline: UInt64) async
}
