/// One schedule: Redis, workers and APNs, driven by one seed.
struct World: Sendable {
  var rules = Rules()
  var random = SeededGenerator(seed: 0)
  var now = 0
  var step = 0
  var store = StoreState(slices: 2)
  var slices = 2
  var targets = 4
  /// Number of the current Redis process.
  var runID = 1
  /// Whether Redis has lost writes in this schedule.
  var hasForgotten = false
  // Arrays, because Swift 6.3.1 copies the whole element for each field that is read from an `InlineArray`.
  var workers = Array(repeating: Worker(), count: 4)
  var places = 2
  var nextClaim = 1
  /// Place and generation that made each claim.
  var holders: [(place: Int, generation: Int)] = []
  /// Calls that their workers have given up and that Redis may still execute.
  var late: [(call: StoreCall, notBefore: Int)] = []
  var apns = APNsState()
  /// For each index of a worker's run, the attempt that may be sent: 0 for none, otherwise the attempt + 1.
  var permits = Four(repeating: Four(repeating: SIMD8<UInt8>()))
  /// The indexes that a worker's run must not send: their users had departed at the grant, or the worker must check
  /// them first.
  var barred = Four(repeating: Four(repeating: SmallSet()))
  /// Targets whose users have departed at any time, even if Redis lost the departure.
  var departed: UInt32 = 0
  var faults: [Fault] = []
  var nextFault = 0
  /// A bit for each fault that is omitted.
  var dropped: UInt64 = 0
  var armed: FaultKind?
  var injected = FaultCounts()
  var history = History()
  var takeovers = 0
  /// Number of targets that an owner found in doubt because Redis lost a later claim.
  var reversals = 0
  var resumeAt = -1
  var wasCancelled = false
  /// The first violation.
  var violation: String?
  /// The events; `nil` if they are not recorded.
  var trace: [String]?
  var operations: [StoreOperation]?

  var isTraced: Bool { trace != nil }

  mutating func fail(_ what: String) {
    guard violation == nil else { return }
    violation = what
    if isTraced { trace("VIOLATION \(what)") }
  }

  mutating func trace(_ what: String) {
    trace?.append("step \(step) t=\(now): \(what)")
  }

  /// Returns the number of a target over all slices.
  static func target(_ slice: Int, _ number: Int) -> Int { slice * 8 + number }

  func target(of run: Run, _ index: Int) -> Int { Self.target(run.slice, Int(run.order[index])) }

  func isRunning(_ place: Int) -> Bool { workers[place].isAlive && workers[place].pausedUntil <= now }
}

/// State of APNs and the devices, by target.
struct APNsState: Sendable {
  /// 0: accepts every push; 1: unregistered; n ≥ 2: answers n − 1 pushes with 503, then accepts.
  var behaviour = SIMD32<UInt8>()
  var deliveries = SIMD32<UInt8>()
  /// Bits: 1 a worker has seen a 200, 2 a 410, 4 a 503, 8 an answer was lost.
  var evidence = SIMD32<UInt8>()
  /// Deliveries beyond the first that the rules allow, by reason: doubt at a takeover, a lost answer, a lost record.
  var excused = SIMD32<UInt8>()
  var ambiguous = SIMD32<UInt8>()
  var forgiven = SIMD32<UInt8>()
  /// Time when a place last handed over a target.
  var lastSent = Four(repeating: SIMD32<Int32>(repeating: -1000))
  /// Targets that a place has sent and Redis has lost, until the place has replayed.
  var debts = Four(repeating: UInt32(0))
  var debtsUntil = 0
  /// Targets that two owners may have sent: the later owner, whose claim Redis lost, and the former owner, which owns
  /// the slice again.
  var returned: UInt32 = 0
  /// Time when a dead process last handed over a target.
  var lastSentByDead = SIMD32<Int32>(repeating: -1000)
}

/// Results of a push.
enum Fate {
  static let taken: UInt8 = 1
  static let gone: UInt8 = 2
  static let refused: UInt8 = 3
  static let takenUnanswered: UInt8 = 4
  static let lostUnanswered: UInt8 = 5
  static let notProcessed: UInt8 = 6
}

/// Earlier states of the store, newest last, for the time in which Redis may lose writes.
struct History: Sendable {
  private var states: [(state: StoreState, at: Int)] = []
  private var newest = 0
  private var count = 0
  private static let size = 32

  mutating func removeAll() { count = 0 }

  mutating func append(_ state: StoreState, at now: Int) {
    newest = (newest + 1) % Self.size
    if states.count < Self.size {
      while states.count < Self.size { states.append((state, now)) }
    }
    states[newest] = (state, now)
    count = Swift.min(count + 1, Self.size)
  }

  /// Returns the number of writes that may be lost.
  func depth(_ now: Int) -> Int {
    var depth = 0
    while depth < count, states[(newest + Self.size - depth) % Self.size].at > now - Rules.forgetting { depth += 1 }
    return depth
  }

  /// Returns the state before the last `writes` writes, and its time.
  func state(before writes: Int) -> (state: StoreState, at: Int) {
    states[(newest + Self.size - (writes - 1)) % Self.size]
  }
}

/// One call as Redis executed it, with everything that is needed to repeat it elsewhere.
public struct StoreOperation: Sendable {
  /// The kinds of step.
  public enum Step: Sendable {
    case call(StoreCall)
    /// Redis fell back to this state.
    case failover(StoreState)
  }

  /// The step.
  public var step: Step
  /// Time on the model's clock.
  public var now: Int
}
