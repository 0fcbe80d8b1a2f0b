/// A schedule from its seed to its end.
extension World {
  /// Number of steps with faults.
  private static let troubledSteps = 260
  /// Number of further steps, without faults, in which everything must end.
  private static let quietSteps = 12_000

  /// Resets everything and reuses the memory.
  mutating func reset(seed: UInt64, rules broken: Rules) {
    random = SeededGenerator(seed: seed)
    rules = broken
    rules.window = 2 + random.below(3)
    rules.skips = random.once(in: 4)
    slices = 1 + random.below(3)
    targets = 2 + random.below(random.once(in: 4) ? 7 : 4)
    places = 2 + random.below(2)
    now = 1000
    step = 0
    store = StoreState(slices: slices)
    runID = 1
    hasForgotten = false
    nextClaim = 1
    holders.removeAll(keepingCapacity: true)
    holders.append((0, -1))
    late.removeAll(keepingCapacity: true)
    apns = APNsState()
    for target in 0..<24 {
      apns.behaviour[target] = random.once(in: 8) ? 1 : random.once(in: 6) ? UInt8(2 + random.below(3)) : 0
    }
    permits = Four(repeating: Four(repeating: SIMD8()))
    barred = Four(repeating: Four(repeating: SmallSet()))
    departed = 0
    history.removeAll()
    takeovers = 0
    resumeAt = -1
    wasCancelled = false
    violation = nil
    injected = FaultCounts()
    armed = nil
    for place in 0..<4 {
      workers[place].isAlive = false
      workers[place].restartAt = -1
      if place < places { workers[place].start(name: place, runID: runID, graceUntil: 0, now: now) }
    }
    planFaults(seed)
  }

  private mutating func planFaults(_ seed: UInt64) {
    var random = SeededGenerator(seed: ~seed)
    faults.removeAll(keepingCapacity: true)
    nextFault = 0
    // Departures draw from a generator of their own. So seeds that were recorded before the model had departures still
    // give the same schedules, apart from the departures.
    let kinds = FaultKind.allCases.count - 1
    for _ in 0..<random.below(8) {
      let kind = FaultKind(rawValue: UInt8(random.below(kinds))) ?? .crash
      faults.append(
        Fault(
          kind: kind, step: 5 + random.below(Self.troubledSteps - 60), number: UInt32(truncatingIfNeeded: random.next())
        ))
    }
    // This constant was chosen so that the schedules in MutantTests have no departures.
    var departing = SeededGenerator(seed: seed ^ 0x9a01 << 40)
    if departing.once(in: 2) {
      for _ in 0...departing.below(4) {
        // Half of the departures come early, because the slices are sealed then.
        let step = 1 + departing.below(departing.once(in: 2) ? 40 : Self.troubledSteps - 60)
        faults.append(Fault(kind: .departure, step: step, number: UInt32(truncatingIfNeeded: departing.next())))
      }
    }
    faults.sort { $0.step < $1.step }
  }

  /// Runs to the end or to the first violation.
  mutating func run() {
    while step < Self.troubledSteps, violation == nil {
      while nextFault < faults.count, faults[nextFault].step <= step {
        if dropped >> UInt64(nextFault) & 1 == 0 { inject(faults[nextFault]) }
        nextFault += 1
      }
      advance()
    }
    guard violation == nil else { return }
    endFaults()
    let limit = step + Self.quietSteps
    while violation == nil, !isDone {
      if step >= limit { return fail("does not come to an end") }
      advance()
    }
    if violation == nil { checkEnd() }
  }

  /// Ends all faults: stalled processes continue, a paused campaign is resumed, and at least one worker runs.
  private mutating func endFaults() {
    armed = nil
    if isTraced { trace("faults stop") }
    for place in 0..<4 { workers[place].pausedUntil = min(workers[place].pausedUntil, now) }
    if store.control.state == .paused { control(.resume) }
    resumeAt = -1
    var isAnybodyThere = false
    for place in 0..<4 where workers[place].isAlive { isAnybodyThere = true }
    if !isAnybodyThere { restart(0, name: 0) }
  }

  private mutating func restart(_ place: Int, name: Int) {
    let grace = rules.breaks(.noGraceAtStart) ? 0 : now + Rules.grace
    workers[place].start(name: name, runID: runID, graceUntil: grace, now: now)
    permits[place] = Four(repeating: SIMD8())
    if isTraced { trace("worker \(place) starts as \(name)") }
  }

  private mutating func advance() {
    step += 1
    if random.once(in: 4) { now += 1 }
    if !late.isEmpty, random.once(in: 3) { executeLate() }
    if resumeAt >= 0, now >= resumeAt {
      resumeAt = -1
      control(.resume)
    }
    if apns.debtsUntil > 0, now >= apns.debtsUntil {
      apns.debtsUntil = 0
      for place in 0..<4 { forgive(place, "did not replay in time") }
    }
    let first = random.below(4)
    for offset in 0..<4 {
      let place = (first + offset) & 3
      if workers[place].restartAt >= 0, workers[place].restartAt <= now, !workers[place].isAlive {
        restart(place, name: workers[place].restartName)
      }
      guard isRunning(place) else { continue }
      if work(place) {
        workers[place].lastStep = now
        checkWindow(place)
        return
      }
    }
    now += 1
  }

  private mutating func executeLate() {
    let position = random.below(late.count)
    guard late[position].notBefore <= now else { return }
    let call = late[position].call
    late.remove(at: position)
    if isTraced { trace("late:") }
    _ = execute(call)
  }

  /// Executes one step of a worker. Returns false if there is nothing to do.
  private mutating func work(_ place: Int) -> Bool {
    if workers[place].runID != runID {
      if rules.breaks(.runIDIgnored) { workers[place].runID = runID } else { beginReplay(place) }
    }
    if workers[place].isReplaying, random.below(4) > 0 {
      replay(place)
      return true
    }
    let first = random.below(4)
    for offset in 0..<4 {
      switch (first + offset) & 3 {
      case 0: if send(place) { return true }
      case 1: if answer(place) { return true }
      case 2: if driveAny(place) { return true }
      default: if background(place) { return true }
      }
    }
    return false
  }

  private mutating func driveAny(_ place: Int) -> Bool {
    let first = random.below(4)
    for offset in 0..<4 where drive(place, (first + offset) & 3) { return true }
    return false
  }

  /// Whether no process has anything left to do.
  private var isDone: Bool {
    guard store.control.hasEnded, late.isEmpty, store.control.parked.isEmpty, store.control.open.isEmpty else {
      return false
    }
    var names = SmallSet()
    for place in 0..<4 where workers[place].isAlive {
      guard workers[place].working.isEmpty, !workers[place].isReplaying, workers[place].orphans == 0 else {
        return false
      }
      guard workers[place].runID == runID, workers[place].dueTasks.allSatisfy({ $0.kind == .reopen }) else {
        return false
      }
      names.insert(workers[place].name)
    }
    for name in 0..<4 where !store.control.processing[name].isEmpty { return false }
    return store.control.workers.subtracting(names).isEmpty
  }

  private mutating func checkEnd() {
    checkTotals()
    var sum = SIMD8<Int16>()
    var duplicates = 0
    var allowed = takeovers * rules.window + reversals
    for number in 0..<slices {
      let slice = store.slices[number]
      if !slice.hasEnded { fail("slice \(number) is counted and has not ended: \(slice.phase)") }
      for index in 0..<slice.count {
        let target = Self.target(number, Int(slice.order[index]))
        if slice.ending(of: index) == nil { fail("target \(target) has no outcome") }
      }
      if slice.claim != 0 || !slice.retry.isEmpty { fail("slice \(number) has a claim or retries left") }
      sum &+= slice.tally
      sum[SliceState.targetsPlace] += Int16(slice.count)
      sum[SliceState.resentPlace] += Int16(slice.resent)
      for target in (number * 8)..<(number * 8 + 8) {
        duplicates += max(0, Int(apns.deliveries[target]) - 1)
        allowed += Int(apns.ambiguous[target]) + Int(apns.forgiven[target])
      }
    }
    // Redis may lose the number of resent targets, which is only informative. So it is not compared after a failover.
    if hasForgotten { sum[SliceState.resentPlace] = store.control.tally[SliceState.resentPlace] }
    if sum != store.control.tally { fail("totals \(store.control.tally), the slices' sum \(sum)") }
    if duplicates > allowed { fail("\(duplicates) duplicates, \(allowed) allowed") }
    for place in 0..<4 where workers[place].isAlive && workers[place].assigned != 0 {
      fail("worker \(place) has \(workers[place].assigned) assigned at the end")
    }
  }
}
