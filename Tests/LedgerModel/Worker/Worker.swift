/// One process.
struct Worker: Sendable {
  var isAlive = false
  var name = 0
  /// Tells apart the processes that have had this place.
  var generation = 0
  var pausedUntil = 0
  /// When a dead one's successor starts; -1 for never.
  var restartAt = -1
  var restartName = 0
  /// Credit lent to slices, and of it that of pushes whose slices have been let go of.
  var lent = 0
  var orphans = 0
  var runs = Four(repeating: Run())
  /// Which Redis it knows.
  var runID = 0
  var isReplaying = false
  var replayPosition = 0
  /// Before this it claims nothing and asks for no credit.
  var graceUntil = 0
  var journal: [JournalEntry] = []
  /// Calls of its background loops.
  var chores: [StoreCall] = []
  var leftovers = SmallSet()
  var nextHeartbeat = 0
  var nextControl = 0
  var lastStep = 0
  /// Whether it has stood still, and not told since what it knows: others may know better.
  var isOutOfDate = false
  /// When it begins to tell what it knows.
  var tellsFrom = 0

  /// A new process; memory of the old one's collections is kept.
  mutating func start(name: Int, runID: Int, graceUntil: Int, now: Int) {
    isAlive = true
    self.name = name
    generation += 1
    pausedUntil = 0
    restartAt = -1
    lent = 0
    orphans = 0
    runs = Four(repeating: Run())
    self.runID = runID
    isReplaying = false
    self.graceUntil = graceUntil
    journal.removeAll(keepingCapacity: true)
    chores.removeAll(keepingCapacity: true)
    leftovers = SmallSet()
    nextHeartbeat = now
    nextControl = now
    lastStep = now
    isOutOfDate = false
  }

  /// Slices it works on.
  var working: SmallSet {
    var slices = SmallSet()
    for position in 0..<4 where runs[position].stage != .none { slices.insert(runs[position].slice) }
    return slices
  }

  /// The journal's entry for a claim, made if need be.
  mutating func entry(of run: Run) -> Int {
    for position in journal.indices where journal[position].claim == run.claim { return position }
    var entry = JournalEntry()
    entry.slice = run.slice
    entry.claim = run.claim
    entry.seal = run.seal
    journal.append(entry)
    return journal.count - 1
  }

  mutating func lend(_ amount: Int, _ position: Int) {
    lent += amount
    runs[position].credit += amount
  }

  mutating func giveBack(_ amount: Int, _ position: Int) {
    lent -= amount
    runs[position].credit -= amount
  }

  /// Puts an outcome among those to be recorded.
  mutating func record(_ position: Int, _ index: Int, _ state: UInt8, delay: Int = 0) {
    runs[position].pending.set(
      index, state, attempt: runs[position].attempt[index], isAmbiguous: runs[position].ambiguous.contains(index),
      delay: delay)
  }

  /// Stops sending for a slice: what no connection has taken goes back.
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

  /// A target that was granted and is not going to be sent now: it waits, and is granted again before it is sent.
  mutating func settle(_ position: Int, _ index: Int) {
    runs[position].unsent.remove(index)
    runs[position].unchecked.remove(index)
    if runs[position].intent == .lost {
      giveBack(1, position)
    } else {
      record(position, index, RecordState.waiting)
    }
  }

  /// A target that was granted and is withheld: it ends, and may have been delivered by an earlier attempt.
  mutating func withhold(_ position: Int, _ index: Int) {
    let mayHaveIt = runs[position].ambiguous.contains(index)
    record(position, index, mayHaveIt ? Ending.unknown.rawValue : Ending.gone.rawValue)
  }

  /// Lets go of a slice, wherever it was.
  mutating func discard(_ position: Int) {
    let underWay = runs[position].underWay.count
    giveBack(runs[position].credit - underWay, position)
    orphans += underWay
    runs[position] = Run()
  }
}
