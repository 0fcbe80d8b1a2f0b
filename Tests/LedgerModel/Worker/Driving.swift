/// The next step of a worker with a slice.
extension World {
  /// Executes one step of a slice. Returns false if there is nothing to do.
  mutating func drive(_ place: Int, _ position: Int) -> Bool {
    let run = workers[place].runs[position]
    switch run.transit {
    case .issued:
      arrive(place, position)
      return true
    case .answered, .failed:
      deliver(place, position)
      return true
    case .none: break
    }
    guard run.stage != .none, !workers[place].isReplaying else { return false }
    let name = workers[place].name
    var call = StoreCall(.look, slice: run.slice, name: name, claim: run.claim)
    switch run.stage {
    case .none: return false
    case .look: break
    case .claim:
      guard mayClaim(place) else { return false }
      call.kind = .claim
      call.claim = nextClaim
      nextClaim += 1
      holders.append((place, workers[place].generation))
      workers[place].runs[position].claim = call.claim
      workers[place].runs[position].claimedAt = now
    case .append:
      call.kind = .append
      (call.order, call.count) = expanded(run.slice)
      workers[place].runs[position].order = call.order
      workers[place].runs[position].count = call.count
    case .seal:
      call.kind = .seal
      call.count = run.count
      call.departures = run.departures
    case .study, .reconcile:
      call.kind = .read
      call.highWater = run.granted
    case .drive: return decide(place, position)
    case .close:
      call.kind = .close
      call.cancels = run.cancels
    case .finish:
      call.kind = .finish
      call.tally = run.tally
    case .release: call.kind = .unclaim
    case .requeue: call.kind = .requeue
    case .park:
      call.kind = .park
      call.ticks = run.ticks
    case .postpone:
      call.kind = .postpone
      call.ticks = run.ticks
    case .dismiss: call.kind = .dismiss
    }
    start(place, position, call)
    return true
  }

  func mayClaim(_ place: Int) -> Bool {
    !workers[place].isReplaying && (now >= workers[place].graceUntil || rules.breaks(.noGraceForClaims))
  }

  private func mayAsk(_ place: Int) -> Bool {
    now >= workers[place].graceUntil || rules.breaks(.noGraceForCredit)
  }

  /// Expands the slice in random order, without departed users.
  private mutating func expanded(_ slice: Int) -> (order: SIMD8<UInt8>, count: Int) {
    var order = SIMD8<UInt8>(0, 1, 2, 3, 4, 5, 6, 7)
    for position in stride(from: targets - 1, to: 0, by: -1) {
      let other = random.below(position + 1)
      (order[position], order[other]) = (order[other], order[position])
    }
    let gone = store.slices[slice].gone
    guard !gone.isEmpty else { return (order, targets) }
    var count = 0
    for position in 0..<targets where !gone.contains(Int(order[position])) {
      order[count] = order[position]
      count += 1
    }
    return (order, count)
  }

  /// Decides the next step of a claimed and sealed slice.
  private mutating func decide(_ place: Int, _ position: Int) -> Bool {
    let run = workers[place].runs[position]
    let mayAsk = mayAsk(place)
    let free = max(0, rules.window - workers[place].assigned)
    let sends = run.intent == .send
    if sends, mayAsk, !run.doubt.isEmpty, free > 0, !run.mustReconcile {
      resend(place, position, 1 + random.below(min(free, run.doubt.count)))
      return true
    }
    if sends, run.mustReconcile, mayAsk {
      commit(place, position, credit: 0)
      return true
    }
    let ungranted = max(0, run.count - run.granted)
    let due = run.waiting > 0 && run.nextRetry <= now ? run.waiting : 0
    var wanted = sends && mayAsk && !run.mustReconcile ? min(free, ungranted + due) : 0
    if wanted > 1 { wanted = 1 + random.below(wanted) }
    let unanswered = run.underWay.union(run.unsent)
    if !run.pending.indexes.isEmpty, unanswered.isEmpty || random.once(in: 2) {
      commit(place, position, credit: wanted)
      return true
    }
    if wanted > 0, random.once(in: 2) {
      commit(place, position, credit: wanted)
      return true
    }
    if run.pending.indexes.isEmpty, unanswered.isEmpty, wanted == 0, end(place, position, ungranted) { return true }
    if now >= run.renewAt, run.intent != .lost {
      commit(place, position, credit: 0)
      return true
    }
    return false
  }

  /// Decides how this worker ends its work on the slice. Called if no push is in flight and nothing must be recorded.
  private mutating func end(_ place: Int, _ position: Int, _ ungranted: Int) -> Bool {
    let run = workers[place].runs[position]
    switch run.intent {
    case .lost:
      workers[place].runs[position].ticks = Rules.lease
      workers[place].runs[position].stage = .postpone
    case .leave:
      workers[place].runs[position].ticks = -1
      workers[place].runs[position].stage = .release
    case .cancel:
      workers[place].runs[position].cancels = true
      workers[place].runs[position].stage = .close
    case .send:
      guard run.doubt.isEmpty, ungranted == 0, !run.mustReconcile else { return false }
      if run.waiting == 0 {
        workers[place].runs[position].stage = .close
      } else if run.nextRetry > now + Rules.shortWait {
        workers[place].runs[position].ticks = run.nextRetry - now
        workers[place].runs[position].stage = .release
      } else {
        return false
      }
    }
    if isTraced { trace("worker \(place) slice \(run.slice): \(workers[place].runs[position].stage)") }
    return true
  }

  /// Sends targets in doubt again, or records them as unknown with `skip`.
  private mutating func resend(_ place: Int, _ position: Int, _ number: Int) {
    let run = workers[place].runs[position]
    var chosen = SmallSet()
    for index in run.doubt where chosen.count < number { chosen.insert(index) }
    let isOver = rules.skips && !rules.breaks(.skipResends)
    var departed = SmallSet()
    if !isOver {
      guard let reply = regrant(place, position, chosen) else { return }
      // Another worker has closed the slice.
      guard reply.result == .done else { return commit(place, position, credit: 0) }
      if !rules.breaks(.resendsUnchecked) { departed = reply.withheld }
    }
    for index in chosen {
      workers[place].runs[position].doubt.remove(index)
      workers[place].assign(1, position)
      workers[place].runs[position].attempt[index] = run.doubtAttempt[index]
      if !isOver { workers[place].runs[position].resent += 1 }
      if isOver {
        workers[place].record(position, index, Ending.unknown.rawValue)
      } else {
        if !rules.breaks(.resendForgetsDoubt) { workers[place].runs[position].ambiguous.insert(index) }
        if departed.contains(index) {
          workers[place].withhold(position, index)
        } else {
          workers[place].runs[position].unsent.insert(index)
        }
      }
    }
    if isTraced { trace("worker \(place) slice \(run.slice): \(number) of those in doubt again") }
  }

  /// Checks for departures among granted targets that were certainly not sent.
  mutating func checkUnsent(_ place: Int, _ position: Int) {
    let unchecked = workers[place].runs[position].unchecked
    guard let reply = regrant(place, position, unchecked), reply.result == .done else { return }
    workers[place].runs[position].unchecked = SmallSet()
    for index in reply.withheld {
      workers[place].runs[position].unsent.remove(index)
      workers[place].withhold(position, index)
    }
  }

  /// Asks Redis which targets may be sent.
  private mutating func regrant(_ place: Int, _ position: Int, _ indexes: SmallSet) -> StoreReply? {
    let run = workers[place].runs[position]
    var call = StoreCall(.regrant, slice: run.slice, name: workers[place].name, claim: run.claim)
    call.seal = run.seal
    call.indexes = indexes
    guard let reply = self.call(call) else { return nil }
    if reply.result == .done {
      barred[place][position] = barred[place][position].subtracting(indexes).union(reply.departed)
    }
    return reply
  }

  private mutating func commit(_ place: Int, _ position: Int, credit: Int) {
    workers[place].assign(credit, position)
    var run = workers[place].runs[position]
    var call = StoreCall(.commit, slice: run.slice, name: workers[place].name, claim: run.claim)
    call.seal = run.seal
    call.seq = run.seq
    call.replays = run.replays
    call.credit = credit
    call.resent = run.resent
    call.departures = run.known
    for index in run.granted..<min(run.granted + credit, run.count)
    where !rules.breaks(.grantsUnchecked) && run.mayHaveDeparted(index) {
      call.indexes.insert(index)
    }
    call.records = run.pending
    run.asked = credit
    run.batch = run.pending.indexes
    run.resentInCall = run.resent
    run.renewAt = now + Rules.lease / 3
    if rules.breaks(.sendsBeforeGrant) {
      for index in run.granted..<min(run.granted + credit, run.count) { run.unsent.insert(index) }
    }
    workers[place].runs[position] = run
    start(place, position, call)
  }
}
