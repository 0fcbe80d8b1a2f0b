/// Redis, workers and APNs under one seed: a schedule.
struct World: Sendable {
  var rules = Rules()
  var random = SeededGenerator(seed: 0)
  var now = 0
  var step = 0
  var store = StoreState(slices: 2)
  var slices = 2
  var targets = 4
  /// Counts the lives of Redis.
  var runID = 1
  /// Whether Redis has ever lost anything in this schedule.
  var hasForgotten = false
  var workers = Four(repeating: Worker())
  var places = 2
  var nextClaim = 1
  /// Which place and generation a claim was made by.
  var holders: [(place: Int, generation: Int)] = []
  /// Calls that their workers have given up and that Redis has yet to execute.
  var late: [(call: StoreCall, notBefore: Int)] = []
  var apns = APNsState()
  /// Which attempt of an index a worker's run may send; 0 for none, else attempt + 1.
  var permits = Four(repeating: Four(repeating: SIMD8<UInt8>()))
  /// Which indexes a worker's run must not send: their users had departed when they were granted, or it has yet to ask.
  var barred = Four(repeating: Four(repeating: SmallSet()))
  /// Targets whose users have departed at some time, whether Redis still knows it or not.
  var departed: UInt32 = 0
  var faults: [Fault] = []
  var nextFault = 0
  /// Bits of the faults that are left out.
  var dropped: UInt64 = 0
  var armed: FaultKind?
  var injected = FaultCounts()
  var history = History()
  var takeovers = 0
  /// Targets that an owner found in doubt because Redis lost the claim after its own.
  var reversals = 0
  var resumeAt = -1
  var wasCancelled = false
  /// The first thing that was wrong.
  var violation: String?
  /// Collects what happens; `nil` when nobody reads it.
  var trace: [String]?
  var operations: [StoreOperation]?

  var isTraced: Bool { trace != nil }

  mutating func fail(_ what: String) {
    guard violation == nil else { return }
    violation = what
    if isTraced { note("VIOLATION \(what)") }
  }

  mutating func note(_ what: String) {
    trace?.append("step \(step) t=\(now): \(what)")
  }

  /// The number of a target over all slices.
  static func target(_ slice: Int, _ number: Int) -> Int { slice * 8 + number }

  func target(of run: Run, _ index: Int) -> Int { Self.target(run.slice, Int(run.order[index])) }

  func isRunning(_ place: Int) -> Bool { workers[place].isAlive && workers[place].pausedUntil <= now }
}

/// What APNs and the devices know, by target.
struct APNsState: Sendable {
  /// 0: takes every push; 1: is gone; 2 and more: 503 so many times less one, then takes it.
  var behaviour = SIMD32<UInt8>()
  var deliveries = SIMD32<UInt8>()
  /// Bits: 1 a 200 was seen by a worker, 2 a 410, 4 a 503, 8 an answer was lost.
  var evidence = SIMD32<UInt8>()
  /// Deliveries beyond the first that the rules allow, by reason.
  var excused = SIMD32<UInt8>()
  var ambiguous = SIMD32<UInt8>()
  var forgiven = SIMD32<UInt8>()
  /// When a place last handed a target over.
  var lastSent = Four(repeating: SIMD32<Int32>(repeating: -1000))
  /// Targets that a place has sent and Redis has lost, until it has replayed.
  var debts = Four(repeating: UInt32(0))
  var debtsUntil = 0
  /// When a process that is gone last handed a target over.
  var lastSentByDead = SIMD32<Int32>(repeating: -1000)
}

/// What becomes of a push.
enum Fate {
  static let taken: UInt8 = 1
  static let gone: UInt8 = 2
  static let refused: UInt8 = 3
  static let takenUnanswered: UInt8 = 4
  static let lostUnanswered: UInt8 = 5
  static let notProcessed: UInt8 = 6
}

/// Earlier states of the store, newest last, for as long as Redis may forget.
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

  /// How many writes may be undone.
  func depth(_ now: Int) -> Int {
    var depth = 0
    while depth < count, states[(newest + Self.size - depth) % Self.size].at > now - Rules.forgetting { depth += 1 }
    return depth
  }

  /// The state before the last `writes` writes, and when it was the current one.
  func state(before writes: Int) -> (state: StoreState, at: Int) {
    states[(newest + Self.size - (writes - 1)) % Self.size]
  }
}

/// One call as Redis executed it, with all that is needed to do it again elsewhere.
public struct StoreOperation: Sendable {
  /// What was done.
  public enum Step: Sendable {
    case call(StoreCall)
    /// Redis fell back to this.
    case failover(StoreState)
  }

  /// What was done.
  public var step: Step
  /// When, by the model's clock.
  public var now: Int
}
