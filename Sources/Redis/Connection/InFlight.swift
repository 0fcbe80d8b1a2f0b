/// Queue of the calls that wait for answers, in the order of Redis' answers. Pure: no clock, no I/O.
struct InFlight<Waiter> {
  struct Call {
    /// Number of missing answers.
    var missing: Int
    /// Deadline in the connection's monotonic nanoseconds.
    var deadline: UInt64
    /// Offset of the call's first byte in all bytes ever sent on the connection.
    var offset: UInt64
    var waiter: Waiter
  }

  private var calls: [Call?] = []
  private var head = 0
  /// Indexes of the oldest call's answers in the arena that is being filled.
  private var roots: [Int] = []

  var count: Int { calls.count - head }

  /// Earliest deadline of all calls.
  var earliestDeadline: UInt64? { calls[head...].lazy.compactMap { $0?.deadline }.min() }

  /// Index of the last answer of the oldest call, which does not have all its answers yet.
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

  /// Empties the queue of a dead connection.
  mutating func removeAll() -> [Call] {
    let rest = calls[head...].compactMap { $0 }
    calls = []
    head = 0
    roots = []
    return rest
  }
}
