/// A value that one side sends once while the other side waits for it.
struct Signal<Value: Sendable>: Sendable {
  private let stream: AsyncStream<Value>
  private let continuation: AsyncStream<Value>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream(of: Value.self) }

  func send(_ value: Value) { continuation.yield(value) }

  var value: Value {
    get async {
      for await value in stream { return value }
      fatalError("a signal's stream never ends")
    }
  }
}
