/// Queue of the calls that wait for answers. Redis answers in the order of the calls. Pure: no clock, no I/O.
struct InFlight<Waiter> {
  struct Call {
    /// Number of answers that have not arrived.
    var missing: Int
    /// Time at which the connection fails if answers are missing, in the connection's monotonic nanoseconds.
    var deadline: UInt64
    /// Number of bytes that the connection had sent before the call's first byte.
    var offset: UInt64
    var waiter: Waiter
  }

  private var calls: [Call?] = []
  private var head = 0
  /// Indexes of the arrived answers of the oldest call in the ``ReplyArena`` that is being filled.
  private var roots: [Int] = []

  var count: Int { calls.count - head }

  /// Earliest deadline of all calls.
  var earliestDeadline: UInt64? { calls[head...].lazy.compactMap { $0?.deadline }.min() }

  /// Index of the last arrived answer of the oldest call, if further answers of this call are missing.
  var lastRoot: Int? { roots.last }

  mutating func append(_ call: Call) {
    calls.append(call)
  }

  /// Result of recording an answer.
  enum Progress {
    /// More answers of the same call are missing.
    case incomplete
    /// The oldest call has all its answers.
    case complete(Waiter, roots: [Int])
    /// No call is waiting for an answer.
    case unexpected
  }

  mutating func received(root: Int) -> Progress {
    guard head < calls.count, let call = calls[head] else { return .unexpected }
    roots.append(root)
    if call.missing > 1 {
      calls[head]?.missing = call.missing - 1
      return .incomplete
    }
    calls[head] = nil
    head += 1
    if head == calls.count {
      calls.removeAll(keepingCapacity: true)
      head = 0
    } else if head >= 64, head * 2 > calls.count {
      calls.removeSubrange(..<head)
      head = 0
    }
    let finished = roots
    roots.removeAll(keepingCapacity: true)
    return .complete(call.waiter, roots: finished)
  }

  /// Empties the queue when the connection has died, and returns its calls.
  mutating func removeAll() -> [Call] {
    let rest = calls[head...].compactMap { $0 }
    calls = []
    head = 0
    roots = []
    return rest
  }
}
