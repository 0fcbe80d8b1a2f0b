/// One worker process.
struct Worker: Sendable {
  var isAlive = false
  var name = 0
  /// Number that distinguishes the successive processes at this place in ``World/workers``.
  var generation = 0
  var pausedUntil = 0
  /// Start time of a dead process' successor; -1 for never.
  var restartAt = -1
  var restartName = 0
  /// Credit in use. ``orphans`` is the part for pushes in flight whose slices were released.
  var assigned = 0
  var orphans = 0
  var runs = Array(repeating: Run(), count: 4)
  /// Number of the Redis process that the worker knows.
  var runID = 0
  var isReplaying = false
  var replayPosition = 0
  /// Time before which the worker makes no claim and requests no credit.
  var graceUntil = 0
  var journal: [JournalEntry] = []
  /// Calls that the worker's background loops still have to make.
  var dueTasks: [StoreCall] = []
  var leftovers = SmallSet()
  var nextHeartbeat = 0
  var nextControl = 0
  var lastStep = 0
  /// Whether the worker has stalled and not replayed since. Then others may have newer information.
  var isOutOfDate = false
  /// Time from which the worker may replay.
  var replaysFrom = 0

  /// Starts a new process and reuses the memory of the old one's collections.
  mutating func start(name: Int, runID: Int, graceUntil: Int, now: Int) {
    isAlive = true
    self.name = name
    generation += 1
    pausedUntil = 0
    restartAt = -1
    assigned = 0
    orphans = 0
    for position in runs.indices { runs[position] = Run() }
    self.runID = runID
    isReplaying = false
    self.graceUntil = graceUntil
    journal.removeAll(keepingCapacity: true)
    dueTasks.removeAll(keepingCapacity: true)
    leftovers = SmallSet()
    nextHeartbeat = now
    nextControl = now
    lastStep = now
    isOutOfDate = false
  }

  /// The slices that the worker holds.
  var working: SmallSet {
    var slices = SmallSet()
    for position in 0..<4 where runs[position].stage != .none { slices.insert(runs[position].slice) }
    return slices
  }

  /// Returns the journal entry for a claim and creates it if needed.
  mutating func entry(of run: Run) -> Int {
    for position in journal.indices where journal[position].claim == run.claim { return position }
    var entry = JournalEntry()
    entry.slice = run.slice
    entry.claim = run.claim
    entry.seal = run.seal
    journal.append(entry)
    return journal.count - 1
  }

  mutating func assign(_ amount: Int, _ position: Int) {
    assigned += amount
    runs[position].credit += amount
  }

  mutating func giveBack(_ amount: Int, _ position: Int) {
    assigned -= amount
    runs[position].credit -= amount
  }

  /// Adds an outcome to those that must be recorded.
  mutating func record(_ position: Int, _ index: Int, _ state: UInt8, delay: Int = 0) {
    runs[position].pending.set(
      index, state, attempt: runs[position].attempt[index], isAmbiguous: runs[position].ambiguous.contains(index),
      delay: delay)
  }

  /// Stops sending for a slice. Targets that no connection has taken are returned.
  mutating func withdraw(_ position: Int, _ intent: Run.Intent) {
    let old = runs[position].intent
    guard old != intent, old != .lost, old != .cancel else { return }
    runs[position].intent = intent
    for index in runs[position].unsent { settle(position, index) }
    if intent == .lost {
      runs[position].doubt = SmallSet()
      giveBack(runs[position].limbo, position)
      runs[position].limbo = 0
    }
  }

  /// Returns a granted target that will not be sent now. It waits and must be granted again.
  mutating func settle(_ position: Int, _ index: Int) {
    runs[position].unsent.remove(index)
    runs[position].unchecked.remove(index)
    if runs[position].intent == .lost {
      giveBack(1, position)
    } else {
      record(position, index, RecordState.waiting)
    }
  }

  /// Records the outcome of a granted target that is withheld: `gone`, or `unknown` if an earlier attempt may have
  /// delivered it.
  mutating func withhold(_ position: Int, _ index: Int) {
    let mayHaveIt = runs[position].ambiguous.contains(index)
    record(position, index, mayHaveIt ? Ending.unknown.rawValue : Ending.gone.rawValue)
  }

  /// Forgets a slice in any state. Its pushes in flight keep their credit.
  mutating func discard(_ position: Int) {
    let underWay = runs[position].underWay.count
    giveBack(runs[position].credit - underWay, position)
    orphans += underWay
    runs[position] = Run()
  }
}
