/// A worker's reaction to Redis' answer to the call of a slice, or to a missing answer.
extension World {
  mutating func deliver(_ place: Int, _ position: Int) {
    let run = workers[place].runs[position]
    let reply = run.reply
    let hasFailed = run.transit == .failed
    workers[place].runs[position].transit = .none
    if hasFailed {
      if isTraced { trace("worker \(place): no answer to \(describe(run.call))") }
      switch run.stage {
      case .drive: commitFailed(place, position)
      case .reconcile where !rules.breaks(.failedReadDiscards):
        // Nothing is lost: the records are read again after the next commit.
        workers[place].runs[position].mustReconcile = true
        workers[place].runs[position].stage = .drive
      default:
        if !run.inHand.isEmpty { fail("worker \(place) releases slice \(run.slice) with pushes in flight") }
        workers[place].discard(position)
      }
      return
    }
    switch run.stage {
    case .none: break
    case .look:
      workers[place].runs[position].cancels = reply.state == .cancelled
      workers[place].runs[position].stage = reply.state == .absent ? .dismiss : .claim
    case .claim: claimed(place, position, reply)
    case .append: workers[place].runs[position].stage = .seal
    case .seal: sealed(place, position, reply)
    case .study, .reconcile: found(place, position, reply)
    case .drive: committed(place, position, reply)
    case .close: closed(place, position, reply)
    case .release: workers[place].runs[position].stage = run.ticks < 0 ? .requeue : .park
    case .park where reply.result == .refused: workers[place].runs[position].stage = .requeue
    case .finish, .requeue, .park, .postpone, .dismiss: workers[place].discard(position)
    }
  }

  private mutating func claimed(_ place: Int, _ position: Int, _ reply: StoreReply) {
    var run = workers[place].runs[position]
    switch reply.result {
    case .held:
      run.ticks = reply.ticks
      run.stage = .postpone
    case .finished: run.stage = .close
    default:
      run.renewAt = now + Rules.lease / 3
      run.seal = reply.seal
      if run.cancels {
        run.stage = .close
      } else if reply.phase == .sealed {
        run.seq = reply.seq
        run.replays = reply.replays
        run.order = reply.order
        run.count = reply.count
        run.granted = reply.granted
        run.waiting = reply.waiting
        run.nextRetry = now
        run.inherits = reply.doubt > 0
        run.stage = reply.doubt > 0 ? .study : .drive
      } else {
        run.departures = reply.departures
        run.stage = .append
      }
    }
    workers[place].runs[position] = run
    permits[place][position] = SIMD8()
    barred[place][position] = SmallSet()
    if run.stage == .study || run.stage == .drive { journalMark(place, position) }
  }

  private mutating func sealed(_ place: Int, _ position: Int, _ reply: StoreReply) {
    guard reply.result == .done else { return workers[place].discard(position) }
    workers[place].runs[position].seal = workers[place].runs[position].claim
    workers[place].runs[position].seq = reply.seq
    workers[place].runs[position].replays = reply.replays
    workers[place].runs[position].count = reply.count
    workers[place].runs[position].stage = .drive
    let entry = workers[place].entry(of: workers[place].runs[position])
    workers[place].journal[entry].sealedAt = now
    workers[place].journal[entry].order = reply.order
    workers[place].journal[entry].count = reply.count
    workers[place].journal[entry].departures = workers[place].runs[position].departures
  }

  /// Handles targets that are granted without an answer in Redis, although this worker does not hold them.
  private mutating func found(_ place: Int, _ position: Int, _ reply: StoreReply) {
    var run = workers[place].runs[position]
    guard reply.phase == .sealed, reply.seal == run.seal, reply.isOwner || rules.breaks(.doubtsOfOthers) else {
      workers[place].withdraw(position, .lost)
      workers[place].runs[position].stage = .drive
      return
    }
    let known = rules.breaks(.resendsUnrecorded) ? run.underWay.union(run.unsent) : run.inHand
    for index in reply.records.indexes where reply.records.state[index] == RecordState.granted {
      guard !known.contains(index), !run.doubt.contains(index) else { continue }
      let attempt = reply.records.attempt[index]
      permits[place][position][index] = attempt + 1
      barred[place][position].insert(index)
      if reply.records.ambiguous.contains(index) { run.ambiguous.insert(index) } else { run.ambiguous.remove(index) }
      // This target was granted in a reply that was lost, so it was never sent. Its credit is still reserved.
      if !run.inherits, run.limbo > 0 {
        run.limbo -= 1
        run.attempt[index] = attempt
        if run.intent == .send {
          run.unsent.insert(index)
          run.unchecked.insert(index)
        } else {
          run.pending.set(index, RecordState.waiting, attempt: attempt, isAmbiguous: run.ambiguous.contains(index))
        }
      } else {
        run.doubt.insert(index)
        run.doubtAttempt[index] = attempt
        excuse(target(of: run, index), from: place, claimed: run.claimedAt)
      }
    }
    let limbo = run.limbo
    run.limbo = 0
    run.inherits = false
    run.mustReconcile = false
    run.stage = .drive
    workers[place].runs[position] = run
    workers[place].giveBack(limbo, position)
    if run.intent == .lost { workers[place].runs[position].doubt = SmallSet() }
    journalFound(place, position, reply)
  }

  /// Excuses duplicates after Redis lost a claim and the slice returned to the previous owner. If the later owner died
  /// or stalled after it had sent, or has not recorded the answers yet, its pushes are in doubt as at a takeover.
  ///
  /// - Parameter claimed: time of the previous owner's claim, which is valid again.
  private mutating func excuse(_ target: Int, from place: Int, claimed: Int) {
    var times: UInt8 = apns.lastSentByDead[target] >= claimed ? 1 : 0
    for other in 0..<4 where other != place && workers[other].isAlive {
      let sentAt = Int(apns.lastSent[other][target])
      if sentAt >= 0, workers[other].pausedUntil >= sentAt || hasUnrecorded(target, other) { times += 1 }
    }
    apns.excused[target] += times
    reversals += Int(times)
  }

  /// Returns whether a worker has sent a target and has not recorded the answer yet.
  private func hasUnrecorded(_ target: Int, _ place: Int) -> Bool {
    workers[place].runs.contains { run in
      run.stage != .none && run.underWay.union(run.pending.indexes).contains { self.target(of: run, $0) == target }
    }
  }

  private mutating func commitFailed(_ place: Int, _ position: Int) {
    let asked = workers[place].runs[position].asked
    workers[place].runs[position].asked = 0
    workers[place].runs[position].batch = SmallSet()
    if rules.breaks(.noReconcile) || rules.breaks(.creditReturnedEarly) {
      workers[place].giveBack(asked, position)
    } else if workers[place].runs[position].intent == .lost {
      workers[place].giveBack(asked, position)
    } else {
      workers[place].runs[position].limbo += asked
    }
    if !rules.breaks(.noReconcile) { workers[place].runs[position].mustReconcile = true }
  }

  private mutating func committed(_ place: Int, _ position: Int, _ reply: StoreReply) {
    let sent = workers[place].runs[position]
    let asked = sent.asked
    workers[place].runs[position].asked = 0
    workers[place].runs[position].batch = SmallSet()
    workers[place].runs[position].pending.indexes = sent.pending.indexes.subtracting(sent.batch)
    workers[place].runs[position].resent -= sent.resentInCall
    workers[place].giveBack(sent.batch.count, position)
    workers[place].runs[position].granted = max(sent.granted, reply.granted)
    workers[place].runs[position].waiting = reply.waiting
    workers[place].runs[position].nextRetry = now + max(0, reply.ticks)
    if reply.result == .done { journalCommit(place, position, sent) }
    guard reply.isOwner || rules.breaks(.noFence) && reply.result == .done else {
      workers[place].giveBack(asked, position)
      return workers[place].withdraw(position, .lost)
    }
    let forgotten = reply.seq - 1 < sent.seq && !rules.breaks(.sequenceNotChecked)
    let raised = reply.replays != sent.replays
    workers[place].runs[position].seq = reply.seq
    workers[place].runs[position].replays = reply.replays
    if reply.isExpected || rules.breaks(.noFence) {
      workers[place].giveBack(asked - reply.fresh - reply.records.indexes.count, position)
      accept(place, position, reply, sent)
    } else {
      workers[place].giveBack(asked, position)
      if !rules.breaks(.noReconcile) { workers[place].runs[position].mustReconcile = true }
    }
    if forgotten || raised { workers[place].runs[position].inherits = true }
    if forgotten, !workers[place].isReplaying { beginReplay(place) }
    let run = workers[place].runs[position]
    let isReady = !workers[place].isReplaying || rules.breaks(.readsBeforeReplay)
    // While others may still replay, this worker must not read the records: it would take targets whose answers are not
    // restored yet for targets in doubt.
    if run.mustReconcile, run.intent != .lost, isReady,
      now >= workers[place].graceUntil || !run.inherits
        || rules.breaks(.readsBeforeReplay) || rules.breaks(.noGraceForCredit)
    {
      workers[place].runs[position].stage = .reconcile
    }
  }

  /// Accepts the targets that a commit has granted.
  private mutating func accept(_ place: Int, _ position: Int, _ reply: StoreReply, _ sent: Run) {
    if reply.departures >= 0 {
      workers[place].runs[position].known = reply.departures
      if reply.isAnybody { workers[place].runs[position].isAnybody = true }
      if rules.breaks(.departuresForgotten) { workers[place].runs[position].departed = SmallSet() }
      workers[place].runs[position].departed = workers[place].runs[position].departed.union(reply.news)
    }
    for index in reply.records.indexes {
      workers[place].runs[position].attempt[index] = reply.records.attempt[index]
      if reply.records.ambiguous.contains(index) {
        workers[place].runs[position].ambiguous.insert(index)
      } else {
        workers[place].runs[position].ambiguous.remove(index)
      }
      take(place, position, index, reply, isUnchecked: rules.breaks(.retriesUnchecked))
    }
    var first = reply.granted - reply.fresh
    if rules.breaks(.noReconcile) || rules.breaks(.raisedUnseen) { first = sent.granted }
    for index in first..<max(first, reply.granted) where !workers[place].runs[position].inHand.contains(index) {
      workers[place].runs[position].attempt[index] = 0
      take(place, position, index, reply, isUnchecked: rules.breaks(.grantsUnchecked))
    }
    for index in (reply.granted - reply.fresh)..<reply.granted { permits[place][position][index] = 1 }
    for index in reply.records.indexes { permits[place][position][index] = reply.records.attempt[index] + 1 }
    if rules.breaks(.creditIgnored), reply.granted < sent.count {
      workers[place].runs[position].unsent.insert(reply.granted)
    }
  }

  private mutating func take(
    _ place: Int, _ position: Int, _ index: Int, _ reply: StoreReply, isUnchecked: Bool
  ) {
    if reply.departed.contains(index) {
      barred[place][position].insert(index)
    } else {
      barred[place][position].remove(index)
    }
    if reply.withheld.contains(index) { return workers[place].withhold(position, index) }
    workers[place].runs[position].unsent.insert(index)
    // If the worker has had to stop sending for this slice in the meantime, it does not send the target.
    guard workers[place].runs[position].intent == .send else { return workers[place].settle(position, index) }
    let run = workers[place].runs[position]
    let wasChecked = run.call.indexes.contains(index) && !reply.records.indexes.contains(index)
    if run.mayHaveDeparted(index), !wasChecked, !isUnchecked {
      workers[place].runs[position].unchecked.insert(index)
    } else {
      workers[place].runs[position].unchecked.remove(index)
    }
  }

  private mutating func closed(_ place: Int, _ position: Int, _ reply: StoreReply) {
    guard reply.result == .done else {
      workers[place].runs[position].ticks = Rules.lease
      workers[place].runs[position].stage = .postpone
      return
    }
    workers[place].runs[position].tally = reply.tally
    workers[place].runs[position].stage = .finish
    let run = workers[place].runs[position]
    let entry = workers[place].entry(of: run)
    workers[place].journal[entry].closedAt = now
    workers[place].journal[entry].cancels = run.cancels
    workers[place].journal[entry].tally = reply.tally
  }
}
