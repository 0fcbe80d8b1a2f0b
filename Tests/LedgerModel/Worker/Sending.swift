/// Pushes to APNs and their answers.
extension World {
  /// Hands one granted target to APNs. Returns false if there is none.
  mutating func send(_ place: Int) -> Bool {
    let first = random.below(4)
    for offset in 0..<4 {
      let position = (first + offset) & 3
      guard let index = pick(workers[place].runs[position].unsent) else { continue }
      if workers[place].runs[position].unchecked.contains(index) { checkUnsent(place, position) }
      let run = workers[place].runs[position]
      if run.unsent.contains(index), !run.unchecked.contains(index) { handOver(place, position, index) }
      return true
    }
    return false
  }

  private mutating func pick(_ set: SmallSet) -> Int? {
    guard !set.isEmpty else { return nil }
    var skip = random.below(set.count)
    for index in set {
      if skip == 0 { return index }
      skip -= 1
    }
    return nil
  }

  private mutating func handOver(_ place: Int, _ position: Int, _ index: Int) {
    let run = workers[place].runs[position]
    let target = target(of: run, index)
    if permits[place][position][index] != run.attempt[index] + 1 {
      fail(
        "worker \(place) sends target \(target) (slice \(run.slice) index \(index) attempt \(run.attempt[index])) without a grant"
      )
    }
    if barred[place][position].contains(index) {
      fail("worker \(place) sends target \(target) (slice \(run.slice) index \(index)) although its user has departed")
    }
    permits[place][position][index] = 0
    workers[place].runs[position].unsent.remove(index)
    workers[place].runs[position].underWay.insert(index)
    apns.lastSent[place][target] = Int32(now)
    let fate = fate(of: target)
    workers[place].runs[position].fate[index] = fate
    if isTraced {
      trace(
        "worker \(place) sends target \(target) (slice \(run.slice) index \(index) attempt \(run.attempt[index])): fate \(fate)"
      )
    }
    if fate == Fate.taken || fate == Fate.takenUnanswered {
      apns.deliveries[target] += 1
      checkDelivery(target)
    }
    if rules.breaks(.acknowledgeFirst) {
      workers[place].runs[position].underWay.remove(index)
      workers[place].record(position, index, Ending.accepted.rawValue)
    }
  }

  private mutating func fate(of target: Int) -> UInt8 {
    if armed == .answerLost || armed == .notProcessed, let kind = armed {
      armed = nil
      injected.add(kind)
      if kind == .notProcessed { return Fate.notProcessed }
      return random.once(in: 3) ? Fate.lostUnanswered : Fate.takenUnanswered
    }
    switch apns.behaviour[target] {
    case 0: return Fate.taken
    case 1: return Fate.gone
    case 2:
      apns.behaviour[target] = 0
      return Fate.refused
    default:
      apns.behaviour[target] -= 1
      return Fate.refused
    }
  }

  /// Delivers one answer. Returns false if no push is in flight.
  mutating func answer(_ place: Int) -> Bool {
    if workers[place].orphans > 0, random.once(in: 2) {
      workers[place].orphans -= 1
      workers[place].assigned -= 1
      return true
    }
    let first = random.below(4)
    for offset in 0..<4 {
      let position = (first + offset) & 3
      guard let index = pick(workers[place].runs[position].underWay) else { continue }
      answered(place, position, index)
      return true
    }
    return false
  }

  private mutating func answered(_ place: Int, _ position: Int, _ index: Int) {
    let run = workers[place].runs[position]
    let target = target(of: run, index)
    let attempt = Int(run.attempt[index])
    workers[place].runs[position].underWay.remove(index)
    var state = RecordState.waiting
    var delay = 0
    switch run.fate[index] {
    case Fate.taken:
      apns.evidence[target] |= 1
      state = Ending.accepted.rawValue
    case Fate.gone:
      apns.evidence[target] |= 2
      state = Ending.unregistered.rawValue
    case Fate.refused:
      apns.evidence[target] |= 4
      delay = random.below(6)
      if attempt + 1 >= rules.attempts {
        let mayHaveIt = run.ambiguous.contains(index) && !rules.breaks(.exhaustionForgetsAmbiguity)
        state = mayHaveIt ? Ending.unknown.rawValue : Ending.failed.rawValue
      }
    case Fate.notProcessed:
      if run.intent == .send {
        permits[place][position][index] = run.attempt[index] + 1
        workers[place].runs[position].unsent.insert(index)
        return
      }
    default:
      apns.evidence[target] |= 8
      if !rules.breaks(.ambiguityNotRecorded) { workers[place].runs[position].ambiguous.insert(index) }
      if rules.skips || attempt + 1 >= rules.attempts {
        state = Ending.unknown.rawValue
      } else if run.fate[index] == Fate.takenUnanswered {
        apns.ambiguous[target] += 1
      }
    }
    if isTraced { trace("worker \(place) hears of target \(target): \(state)") }
    if state == RecordState.waiting, run.intent == .lost {
      // The new owner decides about another attempt.
      workers[place].giveBack(1, position)
    } else if state == RecordState.waiting, rules.breaks(.retriesUngranted) {
      workers[place].runs[position].unsent.insert(index)
    } else {
      workers[place].record(position, index, state, delay: delay)
    }
  }
}
