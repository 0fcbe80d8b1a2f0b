/// The calls that wait for answers, in the order in which Redis will give them. Pure: no clock, no I/O.
struct InFlight<Waiter> {
  struct Call {
    /// Answers still to come.
    var missing: Int
    /// In the connection's monotonic nanoseconds.
    var deadline: UInt64
    /// Where its first byte stands in everything ever sent on the connection.
    var offset: UInt64
    var waiter: Waiter
  }

  private var calls: [Call?] = []
  private var head = 0
  /// Where the answers of the oldest call stand in the arena that is being filled.
  private var roots: [Int] = []

  var count: Int { calls.count - head }

  /// The earliest deadline of all.
  var earliestDeadline: UInt64? { calls[head...].lazy.compactMap { $0?.deadline }.min() }

  /// The last answer of a call that has not all of them yet.
  var lastRoot: Int? { roots.last }

  mutating func append(_ call: Call) {
    calls.append(call)
  }

  /// Takes note of an answer.
  enum Progress {
    /// More answers belong to the same call.
    case incomplete
    /// The oldest call has all its answers.
    case complete(Waiter, roots: [Int])
    /// Nobody asked.
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

  /// Empties the queue, for a connection that has died.
  mutating func removeAll() -> [Call] {
    let rest = calls[head...].compactMap { $0 }
    calls = []
    head = 0
    roots = []
    return rest
  }
}
