/// Engine: one connection to the service at a time, with all its pushes, on its own serial queue.
///
/// This is the boundary between the pool and a transport. An engine takes pushes from its ``PushSupply`` when it has
/// free streams. No push therefore waits inside an engine, and the pool can still cancel pushes that no engine has
/// taken.
public protocol PushEngine: AnyObject, Sendable {
  /// Notifies the engine that the supply has pushes again. The call is cheap and may come from any thread.
  func wake()
  /// Notifies the engine that the whole service has a problem. The window of its connection then begins at one push
  /// again. May be called from any thread.
  func limitToOnePush()
  /// Stops taking pushes, waits for answers to the pushes in flight, and closes the connections. After `deadline`
  /// nanoseconds, pushes without an answer complete with an unknown result. The function returns when all completions
  /// were delivered. Callers may call it several times.
  func drain(deadline: UInt64) async
}
