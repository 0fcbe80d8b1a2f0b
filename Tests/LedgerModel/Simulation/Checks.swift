/// Invariants after every step.
extension World {
  /// Checks a slice after a call.
  mutating func check(_ call: StoreCall, _ reply: StoreReply, _ before: SliceState) {
    let slice = store.slices[call.slice]
    if let wrong = recount(slice) { fail("slice \(call.slice): \(wrong)") }
    checkRise(slice, before, call)
    checkEvidence(slice, call)
    if call.kind == .claim, reply.result == .done { checkTakeover(slice, before, call) }
    if call.kind == .commit, reply.fresh > 0 || !reply.records.indexes.isEmpty {
      if before.claim != call.claim { fail("slice \(call.slice): credit for a former claim") }
      checkLedgerWindow(call.claim)
    }
  }

  /// Checks that the counters match the records.
  private func recount(_ slice: SliceState) -> String? {
    var doubt = 0
    var waiting = 0
    var tally = SIMD8<Int16>()
    for index in 0..<slice.count {
      if let ending = slice.ending(of: index) {
        tally[ending.place] += 1
      } else if slice.state[index] == RecordState.waiting {
        waiting += 1
      } else if index < slice.granted {
        doubt += 1
      }
    }
    if doubt != slice.doubt { return "\(slice.doubt) in doubt, \(doubt) by its records" }
    if waiting != slice.waiting || waiting != slice.retry.count {
      return "\(slice.waiting) waiting, \(waiting) by its records, \(slice.retry.count) in the retry set"
    }
    if tally != slice.tally { return "outcomes \(slice.tally), \(tally) by its records" }
    return nil
  }

  /// Checks that a record never returns to an earlier state, and that a recorded acceptance is never lost.
  private mutating func checkRise(_ slice: SliceState, _ before: SliceState, _ call: StoreCall) {
    guard before.phase == .sealed, slice.seal == before.seal else { return }
    if slice.granted < before.granted { fail("slice \(call.slice): high-water mark fell") }
    for index in 0..<slice.count {
      let (old, new) = (before.state[index], slice.state[index])
      let rises =
        if old >= 16 { new == old || new == Ending.accepted.rawValue } else {
          new >= 16 || Int(slice.attempt[index]) * 2 + Int(new) >= Int(before.attempt[index]) * 2 + Int(old)
        }
      if !rises { fail("slice \(call.slice) index \(index): \(old)@\(before.attempt[index]) became \(new)") }
    }
    guard call.kind == .commit || call.kind == .replay, call.seal == before.seal else { return }
    for index in call.records.indexes
    where call.records.state[index] == Ending.accepted.rawValue && slice.state[index] != Ending.accepted.rawValue {
      fail("slice \(call.slice) index \(index): a recorded 200 is lost")
    }
  }

  /// Checks that each outcome has a reason.
  private mutating func checkEvidence(_ slice: SliceState, _ call: StoreCall) {
    guard slice.phase != .none, slice.phase != .expanding else { return }
    for index in 0..<slice.count {
      guard let ending = slice.ending(of: index) else { continue }
      let target = Self.target(call.slice, Int(slice.order[index]))
      let evidence = apns.evidence[target]
      let holds =
        switch ending {
        case .accepted: evidence & 1 != 0
        case .unregistered: evidence & 2 != 0
        case .failed: evidence & 4 != 0
        case .unknown: evidence & 8 != 0 || apns.excused[target] > 0 || hasForgotten || slice.phase == .cancelled
        case .cancelled: wasCancelled
        case .gone: departed >> UInt32(target) & 1 == 1
        }
      if !holds { fail("target \(target) (slice \(call.slice) index \(index)) is \(ending) without a reason") }
      checkDelivered(target, ending)
    }
  }

  /// Checks that a delivered target never has an outcome that denies the delivery. So a campaign to the users with the
  /// outcomes `accepted` and `unknown` includes its user. The exceptions are two kinds of lost writes that no worker
  /// could replay: a lost record, and a lost claim. When Redis loses a claim, the slice returns to a former owner,
  /// which may have attempted the target too.
  private mutating func checkDelivered(_ target: Int, _ ending: Ending) {
    guard ending.saysUndelivered, apns.deliveries[target] > 0 else { return }
    if apns.forgiven[target] > 0 || apns.returned >> UInt32(target) & 1 == 1 { return }
    fail("target \(target) was delivered and is \(ending)")
  }

  /// Checks that no slice is taken from an owner with a valid lease. Excuses duplicates of the former owner's targets
  /// in doubt.
  private mutating func checkTakeover(_ slice: SliceState, _ before: SliceState, _ call: StoreCall) {
    guard before.claim != call.claim else { return }
    if before.claim != 0, before.lease > now { fail("slice \(call.slice): two live owners") }
    guard slice.phase == .sealed, slice.doubt > 0 else { return }
    takeovers += 1
    for index in 0..<slice.granted where slice.state[index] == RecordState.granted {
      apns.excused[Self.target(call.slice, Int(slice.order[index]))] += 1
    }
  }

  /// Checks that the targets granted to a process, without the inherited ones, fit into its window.
  private mutating func checkLedgerWindow(_ claim: Int) {
    guard !hasForgotten else { return }
    let holder = holders[claim]
    guard workers[holder.place].isAlive, workers[holder.place].generation == holder.generation else { return }
    var sum = 0
    for position in 0..<4 {
      let run = workers[holder.place].runs[position]
      guard run.stage == .drive || run.stage == .reconcile, store.slices[run.slice].claim == run.claim else { continue }
      sum += store.slices[run.slice].doubt - run.doubt.count
    }
    if sum > rules.window { fail("worker \(holder.place): \(sum) granted without an answer, window \(rules.window)") }
  }

  /// Checks that the targets held by a worker fit into its window.
  mutating func checkWindow(_ place: Int) {
    guard workers[place].isAlive else { return }
    var inHand = workers[place].orphans
    for position in 0..<4 { inHand += workers[place].runs[position].inHand.count }
    if inHand > rules.window || workers[place].assigned > rules.window {
      fail("worker \(place): holds \(inHand) targets, credit \(workers[place].assigned), window \(rules.window)")
    }
  }

  /// Checks that a target is delivered again only if the rules allow it.
  mutating func checkDelivery(_ target: Int) {
    var allowed = 1 + Int(apns.forgiven[target])
    if !rules.skips { allowed += Int(apns.excused[target]) + Int(apns.ambiguous[target]) }
    if Int(apns.deliveries[target]) > allowed {
      fail("target \(target) delivered \(apns.deliveries[target]) times, \(allowed) allowed")
    }
  }

  /// Checks that the totals include every finished slice once.
  mutating func checkTotals() {
    let control = store.control
    var sum: Int16 = 0
    for ending in Ending.allCases { sum += control.tally[ending.place] }
    if sum != control.tally[SliceState.targetsPlace] {
      fail("\(sum) outcomes in the totals, \(control.tally[SliceState.targetsPlace]) targets")
    }
    if control.counted != control.finished.count {
      fail("\(control.counted) slices counted, \(control.finished.count) finished")
    }
  }

  /// Excuses duplicates of targets whose records Redis has lost and this process can no longer replay.
  mutating func forgive(_ place: Int, _ why: String) {
    var debts = apns.debts[place]
    guard debts != 0 else { return }
    apns.debts[place] = 0
    if isTraced { trace("worker \(place) \(why): forgiven \(String(debts, radix: 2))") }
    while debts != 0 {
      apns.forgiven[debts.trailingZeroBitCount] += 1
      debts &= debts - 1
    }
  }
}
