/// One slice in Redis: the fields of its hash, its targets, ledger and retry set, and the departures of its partition.
public struct SliceState: Equatable, Sendable {
  /// The phases of a slice.
  public enum Phase: UInt8, Sendable {
    case none, expanding, sealed, done, cancelled
  }

  public internal(set) var phase = Phase.none
  /// Current claim; 0 for none.
  public internal(set) var claim = 0
  /// Owner of the claim; -1 for none.
  public internal(set) var owner = -1
  public internal(set) var lease = 0
  public internal(set) var claims = 0
  /// Number of claims since the last outcome that expired with targets in doubt.
  public internal(set) var deaths = 0
  /// Identifier of the list of targets: the claim that sealed it.
  public internal(set) var seal = 0
  /// Number of the owners' commits.
  public internal(set) var seq = 0
  /// Number of calls that may have put targets in doubt without a grant to the owner: replays, and commits of former
  /// owners.
  public internal(set) var replays = 0
  /// Number of targets in the list that is being built.
  public internal(set) var built = 0
  public internal(set) var building = SIMD8<UInt8>()
  /// Target at each index of the sealed list.
  public internal(set) var order = SIMD8<UInt8>()
  public internal(set) var count = 0
  /// The high-water mark.
  public internal(set) var granted = 0
  public internal(set) var doubt = 0
  public internal(set) var waiting = 0
  public internal(set) var state = SIMD8<UInt8>()
  public internal(set) var attempt = SIMD8<UInt8>()
  /// Targets with an earlier attempt that was sent and not answered.
  public internal(set) var ambiguous = SmallSet()
  /// Indexes in the retry set, with their due times.
  public internal(set) var retry = SmallSet()
  public internal(set) var due = SIMD8<Int32>()
  /// Number of targets by ``Ending``.
  public internal(set) var tally = SIMD8<Int16>()
  public internal(set) var resent = 0
  /// The targets, by number, whose users have departed. The next two properties are the number of departures, and the
  /// number that each departure got.
  public internal(set) var gone = SmallSet()
  public internal(set) var departures = 0
  public internal(set) var departedAt = SIMD8<UInt8>()
  /// Number of departures that the seal stored; -1 if unknown.
  public internal(set) var departed = 0

  /// Place of the number of targets in a row of counters. It is after the places of the endings.
  public static let targetsPlace = 6
  /// Place of the number of resent targets.
  public static let resentPlace = 7

  var hasEnded: Bool { phase == .done || phase == .cancelled }

  mutating func claim(_ call: StoreCall, now: Int, rules: Rules) -> StoreReply {
    var reply = StoreReply()
    if hasEnded {
      reply.result = .finished
      return reply
    }
    if claim != 0, claim != call.claim {
      if lease > now, !rules.breaks(.leaseIgnored) {
        reply.result = .held
        reply.ticks = lease - now
        return reply
      }
      if doubt > 0 { deaths += 1 }
    }
    if doubt == 0 { deaths = 0 }
    if phase == .none { phase = .expanding }
    if phase == .expanding { built = 0 }
    claim = call.claim
    owner = call.name
    lease = now + Rules.lease
    claims += 1
    reply.phase = phase
    reply.seal = seal
    reply.seq = seq
    reply.replays = replays
    reply.count = count
    reply.granted = granted
    reply.doubt = doubt
    reply.waiting = waiting
    reply.order = order
    reply.departures = departures
    return reply
  }

  /// Appends targets to the owner's list. A former owner appends to another list, which it can't seal and which the
  /// model omits.
  mutating func append(_ call: StoreCall) -> StoreReply {
    guard claim == call.claim, phase == .expanding else { return StoreReply() }
    // A list that does not fit is wrong, and the seal will refuse it.
    if built < 8 {
      for position in 0..<min(call.count, 8 - built) { building[built + position] = call.order[position] }
    }
    built += call.count
    return StoreReply()
  }

  mutating func seal(_ call: StoreCall, now: Int, rules: Rules) -> StoreReply {
    var reply = StoreReply()
    guard claim == call.claim, phase == .sealed ? count == call.count && seal == claim : built == call.count else {
      reply.result = .refused
      return reply
    }
    if phase == .expanding {
      order = building
      count = built
      built = 0
      phase = .sealed
      seal = claim
      departed = rules.breaks(.departuresNotedAtSeal) ? departures : call.departures
      lease = now + Rules.lease
    }
    reply.order = order
    reply.count = count
    reply.seq = seq
    reply.replays = replays
    return reply
  }

  mutating func unclaim(_ call: StoreCall) -> StoreReply {
    var reply = StoreReply()
    guard claim == call.claim, call.claim != 0 else {
      reply.result = .refused
      return reply
    }
    endClaim()
    return reply
  }

  mutating func close(_ call: StoreCall, rules: Rules) -> StoreReply {
    var reply = StoreReply()
    if !hasEnded {
      guard claim == call.claim else {
        reply.result = .refused
        return reply
      }
      if call.cancels {
        if phase == .expanding { count = 0 }
        // `retry` contains exactly the waiting targets.
        let unknown = doubt + (rules.breaks(.cancelForgetsAmbiguity) ? 0 : retry.intersection(ambiguous).count)
        tally[Ending.unknown.place] += Int16(unknown)
        tally[Ending.cancelled.place] += Int16(count - granted + doubt + waiting - unknown)
        phase = .cancelled
        doubt = 0
        waiting = 0
        retry = SmallSet()
        built = 0
      } else if phase == .sealed, granted == count, waiting == 0, doubt == 0 || rules.breaks(.closesWithDoubt) {
        phase = .done
      } else {
        reply.result = .refused
        return reply
      }
      endClaim()
      deaths = 0
      departed = 0
    }
    reply.tally = tally
    reply.tally[Self.targetsPlace] = Int16(count)
    reply.tally[Self.resentPlace] = Int16(resent)
    return reply
  }

  /// Records that a user loses the device of this target.
  mutating func depart(_ target: Int, rules: Rules) {
    gone.insert(target)
    if !rules.breaks(.departureNotCounted) { departures += 1 }
    departedAt[target] = UInt8(departures)
  }

  /// Returns whether the user of a target has departed.
  func hasDeparted(_ index: Int) -> Bool { gone.contains(Int(order[index])) }

  /// Checks granted targets for departures. The caller need not be the owner.
  func regrant(_ call: StoreCall, rules: Rules) -> StoreReply {
    var reply = StoreReply()
    guard phase == .sealed, seal == call.seal else {
      reply.result = .refused
      return reply
    }
    for index in call.indexes where index < count && hasDeparted(index) {
      reply.departed.insert(index)
      if departed != departures { reply.withheld.insert(index) }
    }
    return reply
  }

  private mutating func endClaim() {
    claim = 0
    lease = 0
    owner = -1
  }

  /// Returns the outcome of a target as in an export of the results; `nil` if it has none.
  public func ending(of index: Int) -> Ending? {
    if let ending = Ending(rawValue: state[index]) { return ending }
    guard phase == .cancelled else { return nil }
    let isInDoubt = state[index] == RecordState.granted && index < granted
    return ambiguous.contains(index) || isInDoubt ? .unknown : .cancelled
  }
}
