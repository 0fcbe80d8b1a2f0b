/// Calls between workers and Redis.
extension World {
  /// Executes a call at Redis and checks the result.
  mutating func execute(_ call: StoreCall) -> StoreReply {
    let before = store.slices[call.slice]
    // A call that writes nothing creates no state that Redis could lose.
    if call.kind != .regrant { history.append(store, at: now) }
    let reply = store.apply(call, now: now, rules: rules)
    operations?.append(StoreOperation(step: .call(call), now: now))
    if isTraced { trace("redis \(describe(call)) → \(describe(reply, of: call))") }
    switch call.kind {
    case .claim, .append, .seal, .commit, .replay, .unclaim, .close: check(call, reply, before)
    case .finish, .activate, .control: checkTotals()
    default: break
    }
    return reply
  }

  /// Executes a call of a background loop immediately, unless a fault hits it.
  mutating func call(_ call: StoreCall) -> StoreReply? {
    switch takeArmed(for: call) {
    case .callLost: return nil
    case .replyLost:
      _ = execute(call)
      return nil
    case .callLate:
      late.append((call, now + random.below(20)))
      return nil
    default: return execute(call)
    }
  }

  /// Starts the call of a slice. Usually it is answered before the next event.
  mutating func start(_ place: Int, _ position: Int, _ call: StoreCall) {
    workers[place].runs[position].call = call
    let fault = takeArmed(for: call)
    switch fault {
    case .callLost, .callLate:
      workers[place].runs[position].transit = .failed
      if fault == .callLate { late.append((call, now + random.below(20))) }
    case .replyLost:
      _ = execute(call)
      workers[place].runs[position].transit = .failed
    default:
      workers[place].runs[position].transit = .issued
      if !random.once(in: 4) {
        arrive(place, position)
        if !random.once(in: 8) { deliver(place, position) }
      }
    }
  }

  /// Executes the call of a slice at Redis.
  mutating func arrive(_ place: Int, _ position: Int) {
    let reply = execute(workers[place].runs[position].call)
    workers[place].runs[position].reply = reply
    workers[place].runs[position].transit = .answered
  }

  /// Returns the fault that hits a call; `nil` for none. Most faults are kept for commits, which have the most to lose.
  private mutating func takeArmed(for call: StoreCall) -> FaultKind? {
    guard let kind = armed else { return nil }
    // Regrant calls draw no random number. So seeds that were recorded before the model had these calls still give the
    // same schedules.
    if call.kind == .regrant ? step & 3 > 0 : call.kind != .commit && random.below(4) > 0 { return nil }
    armed = nil
    injected.add(kind)
    if isTraced { trace("FAULT \(kind) at \(describe(call))") }
    return kind
  }

  func describe(_ call: StoreCall) -> String {
    var text = "\(call.kind) slice \(call.slice)"
    switch call.kind {
    case .commit, .replay:
      text += " claim \(call.claim) seal \(call.seal) seq \(call.seq)/\(call.replays) credit \(call.credit)"
      if call.kind == .replay { text += " H \(call.highWater)" }
      for index in call.records.indexes {
        text += " \(index):\(call.records.state[index])@\(call.records.attempt[index])"
      }
      for index in call.grants.indexes { text += " grant \(index)@\(call.grants.attempt[index])" }
    case .depart: text += " target \(call.target)"
    case .regrant: text += " seal \(call.seal) indexes \(Array(call.indexes))"
    case .claim, .append, .seal, .unclaim, .close: text += " claim \(call.claim)" + (call.cancels ? " cancel" : "")
    default: text += " name \(call.name)"
    }
    return text
  }

  func describe(_ reply: StoreReply, of call: StoreCall) -> String {
    switch call.kind {
    case .commit, .replay:
      "\(reply.result) owner \(reply.isOwner) expected \(reply.isExpected) seq \(reply.seq)/\(reply.replays) "
        + "H \(reply.granted) fresh \(reply.fresh) doubt \(reply.doubt) waiting \(reply.waiting) "
        + "retries \(Array(reply.records.indexes)) withheld \(Array(reply.withheld)) "
        + "departed \(reply.departures) \(Array(reply.news))"
    case .regrant: "\(reply.result) withheld \(Array(reply.withheld))"
    case .claim:
      "\(reply.result) \(reply.phase) H \(reply.granted) doubt \(reply.doubt) seq \(reply.seq)/\(reply.replays) "
        + "departures \(reply.departures)"
    case .dequeue: "\(reply.result) \(reply.slice)"
    case .look: "\(reply.state)"
    default: "\(reply.result)"
    }
  }
}
