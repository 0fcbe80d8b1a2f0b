/// The calls that wait for answers, in the order in which Redis will give them. Pure: no clock, no I/O.
struct InFlight<Waiter> {
  struct Call {
    var id: UInt64
    /// Answers still to come.
    var missing: Int
    /// In the connection's monotonic nanoseconds.
    var deadline: UInt64
    /// Where its first byte stands in everything ever sent on the connection.
    var offset: UInt64
    /// `nil` once the caller has gone; the answers are dropped then.
    var waiter: Waiter?
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
    case complete(Waiter?, roots: [Int])
    /// Nobody asked.
    case unexpected
  }

  mutating func received(root: Int) -> Progress {
    guard head < calls.count, let missing = calls[head]?.missing else { return .unexpected }
    roots.append(root)
    if missing > 1 {
      calls[head]?.missing = missing - 1
      return .incomplete
    }
    let waiter = calls[head]?.waiter
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
    return .complete(waiter, roots: finished)
  }

  /// Forgets who waits for a call; its answers will be dropped.
  ///
  /// - Returns: the waiter and the call's offset, if it still waits.
  mutating func abandon(id: UInt64) -> (waiter: Waiter, offset: UInt64)? {
    guard let index = calls[head...].firstIndex(where: { $0?.id == id }), let call = calls[index],
      let waiter = call.waiter
    else { return nil }
    calls[index]?.waiter = nil
    return (waiter, call.offset)
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
