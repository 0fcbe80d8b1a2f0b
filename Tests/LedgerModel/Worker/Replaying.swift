/// Replay of writes that Redis lost.
extension World {
  mutating func journalCommit(_ place: Int, _ position: Int, _ sent: Run) {
    let run = workers[place].runs[position]
    let reply = run.reply
    let at = Int32(now)
    let number = workers[place].entry(of: run)
    for index in sent.batch {
      // Redis has refused this record, and may have recorded another worker's outcome since.
      guard reply.isOwner || SliceState.mayReport(sent.pending.state[index]) || rules.breaks(.refusalsJournaled) else {
        continue
      }
      workers[place].journal[number].records.set(
        index, sent.pending.state[index], attempt: sent.pending.attempt[index],
        isAmbiguous: sent.pending.ambiguous.contains(index), delay: Int(sent.pending.delay[index]))
      workers[place].journal[number].recordsAt[index] = at
      // Redis can lose the record from now on, regardless of the time of the push.
      apns.lastSent[place][target(of: run, index)] = at
    }
    for index in reply.records.indexes {
      workers[place].journal[number].grants.set(
        index, RecordState.granted, attempt: reply.records.attempt[index],
        isAmbiguous: reply.records.ambiguous.contains(index))
      workers[place].journal[number].grantsAt[index] = at
    }
    workers[place].journal[number].highWater = run.granted
    workers[place].journal[number].highWaterAt = now
  }

  /// Journals the high-water mark from a claim.
  mutating func journalMark(_ place: Int, _ position: Int) {
    guard !rules.breaks(.replayNotJournaled) else { return }
    let number = workers[place].entry(of: workers[place].runs[position])
    workers[place].journal[number].highWater = workers[place].runs[position].granted
    workers[place].journal[number].highWaterAt = now
  }

  /// Journals the granted retries that this worker has read from Redis.
  mutating func journalFound(_ place: Int, _ position: Int, _ reply: StoreReply) {
    guard !rules.breaks(.replayNotJournaled) else { return }
    let run = workers[place].runs[position]
    let number = workers[place].entry(of: run)
    for index in reply.records.indexes
    where reply.records.state[index] == RecordState.granted && reply.records.attempt[index] > 0 {
      workers[place].journal[number].grants.set(
        index, RecordState.granted, attempt: reply.records.attempt[index],
        isAmbiguous: reply.records.ambiguous.contains(index))
      workers[place].journal[number].grantsAt[index] = Int32(now)
    }
  }

  /// Begins a replay, because Redis has a new run id or has lost writes.
  mutating func beginReplay(_ place: Int) {
    workers[place].runID = runID
    workers[place].isReplaying = true
    workers[place].replayPosition = 0
    workers[place].graceUntil = now + Rules.grace
    if now - workers[place].lastStep > Rules.retention { workers[place].isOutOfDate = true }
    workers[place].replaysFrom = workers[place].isOutOfDate ? now + Rules.grace / 2 : now
    let since = workers[place].lastStep - Rules.retention
    for number in workers[place].journal.indices {
      workers[place].journal[number].mustRelease = false
      workers[place].journal[number].hasClaimed = false
      // If the last replay did not finish an entry, this one must try it again, regardless of its age.
      let isReplayed = workers[place].journal[number].progress == .done
      let isOld = isReplayed && newest(workers[place].journal[number]) < since
      workers[place].journal[number].progress = isOld || rules.breaks(.noReplay) ? .done : .commit
    }
    for position in 0..<4 {
      if !rules.breaks(.knownAfterFall) { workers[place].runs[position].known = -2 }
      // Redis may have lost another worker's seal of this slice, which that worker restores. So this worker gives up
      // its own list.
      if [.append, .seal].contains(workers[place].runs[position].stage), !rules.breaks(.sealsAfterFall) {
        workers[place].discard(position)
        continue
      }
      workers[place].runs[position].mustReconcile = true
      workers[place].runs[position].inherits = true
      // The closed slice may be open again, and another worker may have decided its outcomes. So this worker repeats
      // the close and gets the current counters.
      if workers[place].runs[position].stage == .finish, !rules.breaks(.oldCountersFinish) {
        workers[place].runs[position].stage = .close
      }
    }
    if isTraced { trace("worker \(place) replays") }
  }

  private func newest(_ entry: JournalEntry) -> Int {
    var newest = max(entry.highWaterAt, entry.sealedAt, entry.closedAt)
    for index in entry.records.indexes { newest = max(newest, Int(entry.recordsAt[index])) }
    for index in entry.grants.indexes { newest = max(newest, Int(entry.grantsAt[index])) }
    return newest
  }

  /// Executes one step of a replay.
  mutating func replay(_ place: Int) {
    guard now >= workers[place].replaysFrom else { return }
    let count = workers[place].journal.count
    while workers[place].replayPosition < count, workers[place].journal[workers[place].replayPosition].progress == .done
    {
      workers[place].replayPosition += 1
    }
    let number = workers[place].replayPosition
    guard number < count else { return endPass(place) }
    var call = replayCall(place, number)
    call.name = workers[place].name
    guard let reply = self.call(call) else { return }
    follow(place, number, call, reply)
  }

  /// Ends a pass over the journal. Until the grace period ends, entries that wait for another worker's seal are tried
  /// again.
  private mutating func endPass(_ place: Int) {
    var isLeft = false
    for number in workers[place].journal.indices where workers[place].journal[number].progress != .done {
      isLeft = true
    }
    if isLeft, now < workers[place].graceUntil {
      workers[place].replayPosition = 0
      return
    }
    workers[place].isReplaying = false
    workers[place].isOutOfDate = false
    if isLeft { giveUpReplaying(place) }
    settleDebts(place)
    if isTraced { trace("worker \(place) has replayed") }
  }

  /// Gives up entries that could not be replayed. Other workers continue with a new list of targets, so these entries
  /// must not be replayed after the next failover.
  private mutating func giveUpReplaying(_ place: Int) {
    forgive(place, "could not replay all")
    guard !rules.breaks(.staleSealKept) else { return }
    for number in workers[place].journal.indices where workers[place].journal[number].progress != .done {
      let entry = workers[place].journal[number]
      workers[place].journal[number] = JournalEntry(slice: entry.slice, claim: entry.claim)
    }
  }

  /// Ends the worker's debts after a replay. Redis may lose the replayed writes again, so their targets count as sent
  /// now.
  private mutating func settleDebts(_ place: Int) {
    var debts = apns.debts[place]
    apns.debts[place] = 0
    while debts != 0 {
      apns.lastSent[place][debts.trailingZeroBitCount] = Int32(now)
      debts &= debts - 1
    }
  }

  private func replayCall(_ place: Int, _ number: Int) -> StoreCall {
    let entry = workers[place].journal[number]
    var call = StoreCall(.replay, slice: entry.slice, claim: entry.claim)
    switch entry.progress {
    case .commit, .done:
      call.seal = entry.seal
      call.highWater = entry.highWater
      call.records = entry.records
      call.grants = entry.grants
    case .claim: call.kind = .claim
    case .append:
      call.kind = .append
      call.order = entry.order
      call.count = entry.count
    case .seal:
      call.kind = .seal
      call.count = entry.count
      call.departures = rules.breaks(.restoredSealTrusted) ? entry.departures : -1
    case .close:
      call.kind = .close
      call.cancels = entry.cancels
    case .finish:
      call.kind = .finish
      call.tally = entry.tally
    case .release: call.kind = .unclaim
    }
    return call
  }

  /// Returns the position of the run with a claim, if any.
  private func run(of claim: Int, _ place: Int) -> Int? {
    for position in 0..<4
    where workers[place].runs[position].stage != .none && workers[place].runs[position].claim == claim {
      return position
    }
    return nil
  }

  private mutating func follow(_ place: Int, _ number: Int, _ call: StoreCall, _ reply: StoreReply) {
    var entry = workers[place].journal[number]
    defer { workers[place].journal[number] = entry }
    switch call.kind {
    case .replay:
      if reply.result == .unsealed {
        let restores = entry.sealedAt >= 0 && !rules.breaks(.sealNotRestored) || entry.closesUnsealed
        entry.progress = restores ? .claim : rules.breaks(.replayOnce) ? .done : .commit
        if !restores { workers[place].replayPosition += 1 }
        return
      }
      if reply.result == .done {
        renew(&entry)
        if let position = run(of: entry.claim, place) {
          workers[place].runs[position].replays = reply.replays
        }
      }
      let closes = reply.result == .done && entry.closedAt >= 0 && !rules.breaks(.closeNotReplayed)
      entry.progress = closes ? .close : entry.mustRelease ? .release : .done
    case .claim:
      entry.hasClaimed = true
      switch reply.result {
      case .held:
        // This entry must wait until the lease of the other worker ends. The other entries come first.
        entry.progress = .commit
        workers[place].replayPosition += 1
      case .finished: entry.progress = .done
      default:
        entry.mustRelease = run(of: entry.claim, place) == nil
        let isOurs = reply.phase == .sealed && reply.seal == entry.seal
        entry.progress =
          reply.phase == .expanding ? (entry.closesUnsealed ? .close : .append) : isOurs ? .commit : .release
      }
    case .append: entry.progress = .seal
    case .seal: entry.progress = .commit
    case .close:
      if reply.result == .done {
        entry.tally = reply.tally
        entry.progress = .finish
      } else {
        entry.progress = entry.hasClaimed ? (entry.mustRelease ? .release : .done) : .claim
      }
    default: entry.progress = .done
    }
  }

  /// Marks replayed entries as new, because Redis may lose them again.
  private func renew(_ entry: inout JournalEntry) {
    guard !rules.breaks(.replayNotJournaled) else { return }
    entry.highWaterAt = now
    for index in entry.records.indexes { entry.recordsAt[index] = Int32(now) }
    for index in entry.grants.indexes { entry.grantsAt[index] = Int32(now) }
    if entry.sealedAt >= 0 { entry.sealedAt = now }
    if entry.closedAt >= 0 { entry.closedAt = now }
  }
}
