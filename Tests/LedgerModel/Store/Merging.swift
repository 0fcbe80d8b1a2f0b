extension SliceState {
  /// Merges records and grants targets, like `commit.lua`. A replay is a commit with acknowledged records.
  mutating func commit(_ call: StoreCall, now: Int, rules: Rules) -> StoreReply {
    var reply = StoreReply()
    let isReplay = call.kind == .replay
    let isOwner = claim != 0 && claim == call.claim
    reply.phase = phase
    reply.departures = -1
    let isOurs = phase == .sealed && (seal == call.seal || rules.breaks(.sealNotChecked))
    guard isOurs else {
      reply.result = phase == .none || phase == .expanding ? .unsealed : .refused
      // Before the seal there is nothing to merge, so the call only renews the lease.
      if isOwner, phase == .expanding, !isReplay { lease = now + Rules.lease }
      return reply
    }
    reply.isOwner = isOwner
    reply.isExpected =
      isOwner && !isReplay && (seq == call.seq || rules.breaks(.sequenceNotChecked))
      && replays == call.replays
    let before = granted
    if isReplay { raise(to: min(call.highWater, count)) }
    var granting = false
    for index in call.grants.indexes where index < count {
      if merge(RecordState.granted, call.grants, index, mayWait: true, now, rules) { granting = true }
    }
    for index in call.records.indexes where index < count {
      // A former owner does not know what the owner has sent since.
      let isStale = !isOwner && !isReplay && !rules.breaks(.staleFailureCounts)
      if isStale, call.records.state[index] >= 16, !Self.mayReport(call.records.state[index]) { continue }
      // This target was sent, so it had been granted. If it is above the mark, Redis has lost the grant.
      raise(to: index + 1)
      let mayWait = isReplay ? rules.breaks(.replaysWaiting) : isOwner
      _ = merge(call.records.state[index], call.records, index, mayWait: mayWait, now, rules)
    }
    if isReplay {
      if rules.breaks(.replayMovesSequence) { seq += 1 } else { replays += 1 }
    } else if !isOwner, granted > before || granting, !rules.breaks(.raisedUnseen) {
      replays += 1
    }
    if isOwner {
      if !isReplay { seq += 1 }
      lease = now + Rules.lease
    }
    if reply.isExpected || rules.breaks(.noFence) && !isReplay {
      grant(call, now, rules, &reply)
    }
    if reply.isExpected || !isOwner { resent += call.resent }
    reply.seq = seq
    reply.replays = replays
    reply.granted = granted
    reply.doubt = doubt
    reply.waiting = waiting
    for index in retry {
      let ticks = max(0, Int(due[index]) - now)
      reply.ticks = reply.ticks < 0 ? ticks : min(reply.ticks, ticks)
    }
    return reply
  }

  /// Returns whether a former owner may record this state of a target. It may not record a retry, or an outcome that
  /// says "not delivered", because the new owner may have sent the target.
  static func mayReport(_ state: UInt8) -> Bool { Ending(rawValue: state)?.saysUndelivered == false }

  private mutating func raise(to mark: Int) {
    guard mark > granted else { return }
    doubt += mark - granted
    granted = mark
  }

  /// Merges one record. Returns true if it was accepted.
  private mutating func merge(
    _ new: UInt8, _ row: RecordRow, _ index: Int, mayWait: Bool, _ now: Int, _ rules: Rules
  ) -> Bool {
    let number = row.attempt[index]
    let old = state[index]
    // A former owner may record how a target ended, but not that it will be sent again. The same applies to a replay.
    if new < 16, !mayWait, !rules.breaks(.waitingFromStale) { return false }
    if old < 16, ambiguous.contains(index), Ending(rawValue: new)?.saysUndelivered == true { return false }
    if let ending = Ending(rawValue: old) {
      if new != Ending.accepted.rawValue || old == new || rules.breaks(.acceptedDoesNotWin) {
        guard rules.breaks(.noMergeOrder), old != new else { return false }
      }
      tally[ending.place] -= 1
    } else if new < 16, Int(number) * 2 + Int(new) <= Int(attempt[index]) * 2 + Int(old), !rules.breaks(.noMergeOrder) {
      return false
    } else if old == RecordState.waiting {
      waiting -= 1
      retry.remove(index)
    } else {
      doubt -= 1
    }
    state[index] = new
    attempt[index] = number
    if row.ambiguous.contains(index), new < 16 { ambiguous.insert(index) }
    if let ending = Ending(rawValue: new) {
      tally[ending.place] += 1
      deaths = 0
    } else if new == RecordState.granted {
      doubt += 1
    } else {
      waiting += 1
      retry.insert(index)
      due[index] = Int32(now + Int(row.delay[index]))
    }
    return true
  }

  /// Grants due retries first, beginning with the earliest one, and then targets that were never granted. A tick is
  /// many milliseconds long, so retries of this commit come after others that are due in the same tick. Targets of
  /// departed users are granted too; the reply tells the worker of the departure.
  private mutating func grant(_ call: StoreCall, _ now: Int, _ rules: Rules, _ reply: inout StoreReply) {
    var credit = call.credit
    while credit > 0 {
      var next = -1
      for index in retry where due[index] <= now && !reply.records.indexes.contains(index) {
        let isBefore =
          next >= 0 && due[index] == due[next] && call.records.indexes.contains(next)
          && !call.records.indexes.contains(index)
        if next < 0 || due[index] < due[next] || isBefore { next = index }
      }
      guard next >= 0 else { break }
      if !rules.breaks(.retryStaysDue) { retry.remove(next) }
      if state[next] == RecordState.waiting { waiting -= 1 }
      doubt += 1
      state[next] = RecordState.granted
      attempt[next] += 1
      let isAmbiguous = ambiguous.contains(next) && !rules.breaks(.grantForgetsAmbiguity)
      reply.records.set(next, RecordState.granted, attempt: attempt[next], isAmbiguous: isAmbiguous)
      if hasDeparted(next) { reply.departed.insert(next) }
      credit -= 1
    }
    reply.fresh = max(0, min(credit, count - granted))
    for index in granted..<(granted + reply.fresh) where hasDeparted(index) {
      reply.departed.insert(index)
      if call.indexes.contains(index) { reply.withheld.insert(index) }
    }
    granted += reply.fresh
    doubt += reply.fresh
    guard reply.fresh > 0 || !reply.records.indexes.isEmpty else { return }
    let known = call.departures == -2 ? departed : call.departures
    reply.departures = departures
    reply.isAnybody = known < 0 || known > departures
    guard !reply.isAnybody else { return }
    for target in gone where Int(departedAt[target]) > known { reply.news.insert(target) }
  }
}
