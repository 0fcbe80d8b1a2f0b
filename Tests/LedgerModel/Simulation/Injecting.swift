/// Injection of faults.
extension World {
  mutating func inject(_ fault: Fault) {
    var random = SeededGenerator(seed: UInt64(fault.number))
    switch fault.kind {
    // These faults take effect at a later call or push, and are counted then.
    case .callLost, .replyLost, .callLate, .answerLost, .notProcessed:
      armed = fault.kind
      return
    default: break
    }
    guard apply(fault.kind, &random) else { return }
    injected.add(fault.kind)
  }

  private mutating func apply(_ kind: FaultKind, _ random: inout SeededGenerator) -> Bool {
    switch kind {
    case .crash: return crash(&random)
    case .pause:
      return standStill(&random)
    case .rollback: return failOver(&random, partially: false)
    case .partialRollback: return failOver(&random, partially: true)
    case .rollbackAndCrash:
      guard failOver(&random, partially: false) else { return false }
      return random.once(in: 2) ? crash(&random) : standStill(&random)
    case .campaignPaused:
      guard store.control.state == .active else { return false }
      control(.pause)
      resumeAt = now + random.below(40)
    case .campaignCancelled:
      guard store.control.state == .active || store.control.state == .paused else { return false }
      wasCancelled = true
      control(.cancel)
      // The process that cancels may die before this call. Then the parked slices return only when they are due.
      if random.once(in: 2) || operations != nil { _ = execute(StoreCall(.unpark)) }
    case .departure:
      var call = StoreCall(.depart, slice: random.below(slices))
      call.target = random.below(targets)
      guard !store.slices[call.slice].gone.contains(call.target) else { return false }
      departed |= 1 << UInt32(Self.target(call.slice, call.target))
      _ = execute(call)
    case .referenceLost:
      let slice = random.below(slices)
      for name in 0..<4 { store.control.processing[name].remove(slice) }
      store.control.open.remove(slice)
      store.control.parked.remove(slice)
      if isTraced { trace("FAULT reference to \(slice) lost") }
    case .referenceTwice:
      let slice = random.below(slices)
      guard store.control.isRunning, !store.control.open.contains(slice) else { return false }
      if random.once(in: 2) {
        store.control.open.append(slice)
        if store.control.state != .paused { store.control.isOnLane = true }
      } else {
        store.control.parked.insert(slice)
        store.control.due[slice] = Int32(now + random.below(10))
      }
      if isTraced { trace("FAULT another reference to \(slice)") }
    case .callLost, .replyLost, .callLate, .answerLost, .notProcessed: return false
    }
    return true
  }

  mutating func control(_ verb: StoreCall.Verb) {
    var call = StoreCall(.control)
    call.verb = verb
    _ = execute(call)
  }

  private func runningPlace(_ random: inout SeededGenerator) -> Int? {
    let first = random.below(4)
    for offset in 0..<4 where isRunning((first + offset) & 3) { return (first + offset) & 3 }
    return nil
  }

  private mutating func standStill(_ random: inout SeededGenerator) -> Bool {
    guard let place = runningPlace(&random) else { return false }
    workers[place].pausedUntil = now + 5 + random.below(3 * Rules.lease)
    forgive(place, "paused")
    if isTraced { trace("FAULT worker \(place) is paused until \(workers[place].pausedUntil)") }
    return true
  }

  private mutating func crash(_ random: inout SeededGenerator) -> Bool {
    guard let place = runningPlace(&random) else { return false }
    if isTraced { trace("FAULT worker \(place) crashes") }
    forgive(place, "crashed")
    for target in 0..<32 where apns.lastSent[place][target] > apns.lastSentByDead[target] {
      apns.lastSentByDead[target] = apns.lastSent[place][target]
    }
    apns.lastSent[place] = SIMD32(repeating: -1000)
    for position in 0..<4 where workers[place].runs[position].transit == .issued {
      // Redis may still receive the call, because it may be in a socket's buffer.
      if random.once(in: 2) { late.append((workers[place].runs[position].call, now + random.below(10))) }
    }
    let name = random.once(in: 2) ? workers[place].name : random.below(4)
    workers[place].isAlive = false
    for position in workers[place].runs.indices { workers[place].runs[position] = Run() }
    workers[place].restartAt = now + random.below(2 * Rules.lease)
    workers[place].restartName = name
    return true
  }

  /// Redis fails over and loses its last writes. All connections break.
  private mutating func failOver(_ random: inout SeededGenerator, partially: Bool) -> Bool {
    let depth = history.depth(now)
    guard depth > 0 else { return false }
    let (old, at) = history.state(before: 1 + random.below(depth))
    let slot = partially ? random.below(slices + 1) : -1
    if isTraced {
      trace(
        "FAULT redis loses the writes since t=\(at), \(slot < 0 ? "all" : slot == slices ? "control" : "slice \(slot)")"
      )
    }
    // The model does not cover that a slice's slot loses a close after the control slot has counted it; see the README.
    if slot >= 0, slot < slices, store.control.finished.contains(slot) { return false }
    for slice in 0..<slices where slot < 0 || slot == slice {
      recordForgotten(slice, old.slices[slice], since: at)
      store.slices[slice] = old.slices[slice]
    }
    if slot < 0 || slot == slices { store.control = old.control }
    operations?.append(StoreOperation(step: .failover(store), now: now))
    runID += 1
    hasForgotten = true
    history.removeAll()
    late.removeAll(keepingCapacity: true)
    apns.debtsUntil = now + Rules.grace - 1
    for place in 0..<4 {
      for position in 0..<4 where workers[place].runs[position].transit != .none {
        workers[place].runs[position].transit = .failed
      }
    }
    return true
  }

  /// Records which targets may be delivered again if no worker replays in time.
  private mutating func recordForgotten(_ number: Int, _ old: SliceState, since at: Int) {
    let new = store.slices[number]
    guard new.phase != .none, new.phase != .expanding else { return }
    let isUnsealed = old.phase == .none || old.phase == .expanding || old.seal != new.seal
    for index in 0..<new.granted {
      recordReturned(Self.target(number, Int(new.order[index])), from: new.claim, to: old.claim, since: at)
      let isForgotten =
        isUnsealed || index >= old.granted || old.state[index] != new.state[index]
        || old.attempt[index] != new.attempt[index]
      guard isForgotten else { continue }
      let target = Self.target(number, Int(new.order[index]))
      if apns.lastSentByDead[target] >= at { apns.forgiven[target] += 1 }
      for place in 0..<4 where workers[place].isAlive && (apns.lastSent[place][target] >= at || holds(place, target)) {
        if workers[place].pausedUntil <= now {
          apns.debts[place] |= 1 << UInt32(target)
        } else {
          apns.forgiven[target] += 1
        }
      }
    }
  }

  /// Records that a target may have been sent by two owners: Redis loses the claim of the later owner, which may have
  /// sent it, and the slice returns to a living former owner, which has attempted it too.
  private mutating func recordReturned(_ target: Int, from lost: Int, to claim: Int, since at: Int) {
    let former = holders[claim]
    guard lost != claim, former.place >= 0, workers[former.place].isAlive else { return }
    let hasAttempt = (0..<4).contains { position in
      let run = workers[former.place].runs[position]
      return run.stage != .none && run.claim == claim && run.inHand.contains { self.target(of: run, $0) == target }
    }
    let isSentByOther =
      apns.lastSentByDead[target] >= at
      || (0..<4).contains { $0 != former.place && (apns.lastSent[$0][target] >= at || holds($0, target)) }
    if hasAttempt, isSentByOther { apns.returned |= 1 << UInt32(target) }
  }

  private func holds(_ place: Int, _ target: Int) -> Bool {
    for position in 0..<4 {
      let run = workers[place].runs[position]
      guard run.stage != .none else { continue }
      for index in run.unsent.union(run.underWay) where self.target(of: run, index) == target { return true }
    }
    return false
  }
}
