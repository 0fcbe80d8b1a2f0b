/// State of one campaign in the control slot: its hash, the lists of references, the list of workers.
public struct ControlState: Sendable {
  /// The campaign's state; absent before its job is activated.
  public enum Campaign: UInt8, Sendable {
    case absent, active, paused, cancelled, completed
  }

  public internal(set) var state = Campaign.absent
  public internal(set) var slices: Int
  /// Number of counted slices.
  public internal(set) var counted = 0
  public internal(set) var tally = SIMD8<Int16>()
  public internal(set) var isOnLane = false
  public internal(set) var isRunning = false
  public internal(set) var open = SmallList()
  /// For each worker's name, the list of slices that it holds.
  public internal(set) var processing = Four(repeating: SmallList())
  public internal(set) var parked = SmallSet()
  public internal(set) var due = SIMD4<Int32>()
  /// The counted slices.
  public internal(set) var finished = SmallSet()
  public internal(set) var workers = SmallSet()
  public internal(set) var seen = SIMD4<Int32>()

  init(slices: Int) { self.slices = slices }

  var hasEnded: Bool { state == .completed || state == .cancelled && counted == slices }

  mutating func activate() {
    guard state == .absent else { return }
    state = .active
    for slice in 0..<slices { open.append(slice) }
    isOnLane = true
    isRunning = true
  }

  mutating func dequeue(_ call: StoreCall, now: Int) -> StoreReply {
    var reply = StoreReply()
    reply.result = .refused
    guard isOnLane else { return reply }
    guard state == .active || state == .cancelled, !open.isEmpty else {
      isOnLane = false
      return reply
    }
    reply.result = .done
    reply.slice = open.removeFirst()
    processing[call.name].append(reply.slice)
    beat(call.name, now)
    return reply
  }

  private mutating func beat(_ name: Int, _ now: Int) {
    workers.insert(name)
    seen[name] = Int32(now)
  }

  mutating func requeue(_ call: StoreCall, rules: Rules) -> StoreReply {
    var reply = StoreReply()
    processing[call.name].remove(call.slice)
    parked.remove(call.slice)
    if state == .absent || finished.contains(call.slice) && !rules.breaks(.reopensFinished) {
      reply.result = .refused
      return reply
    }
    open.remove(call.slice)
    open.prepend(call.slice)
    if state == .active || state == .cancelled { isOnLane = true }
    return reply
  }

  mutating func park(_ call: StoreCall, now: Int) -> StoreReply {
    var reply = StoreReply()
    if call.kind == .park, state == .cancelled {
      reply.result = .refused
      return reply
    }
    processing[call.name].remove(call.slice)
    parked.insert(call.slice)
    due[call.slice] = Int32(now + call.ticks)
    return reply
  }

  mutating func finish(_ call: StoreCall, rules: Rules) -> StoreReply {
    let reply = StoreReply()
    let wasHeld = processing[call.name].contains(call.slice)
    processing[call.name].remove(call.slice)
    parked.remove(call.slice)
    guard state != .absent else { return reply }
    // After Redis lost writes, a held slice can also be in the open list. Like the script, this leaves the reference
    // there. The worker that takes it finds the slice closed and finishes it again.
    if !wasHeld { open.remove(call.slice) }
    if finished.contains(call.slice) && !rules.breaks(.bitIgnored) { return reply }
    finished.insert(call.slice)
    tally &+= call.tally
    counted += 1
    if counted < slices { return reply }
    if state != .cancelled { state = .completed }
    isOnLane = false
    open.removeAll()
    isRunning = false
    return reply
  }

  mutating func apply(_ verb: StoreCall.Verb) {
    switch (state, verb) {
    case (.active, .pause):
      state = .paused
      isOnLane = false
      return
    case (.paused, .resume): state = .active
    case (.active, .cancel), (.paused, .cancel): state = .cancelled
    default: return
    }
    if !open.isEmpty { isOnLane = true }
  }

  mutating func unpark() {
    guard state == .cancelled else { return }
    for slice in parked {
      parked.remove(slice)
      open.remove(slice)
      open.append(slice)
      isOnLane = true
    }
  }

  mutating func heartbeat(_ name: Int, now: Int) { beat(name, now) }

  mutating func removeWorker(_ name: Int) {
    if processing[name].isEmpty { workers.remove(name) }
  }

  /// Opens slices that are in no list. Like the script, it first compares only the number of listed slices with that of
  /// unfinished ones.
  mutating func reopen() {
    guard state != .absent, isRunning else { return }
    var known = SmallSet()
    var held = 0
    for name in workers {
      let list = processing[name]
      for position in 0..<list.count where !known.contains(list[position]) {
        known.insert(list[position])
        held += 1
      }
    }
    if open.count + held >= slices - counted { return }
    for position in 0..<open.count { known.insert(open[position]) }
    var opened = false
    for slice in 0..<slices
    where !finished.contains(slice) && !known.contains(slice) && !parked.contains(slice) {
      open.append(slice)
      opened = true
    }
    if opened, state != .paused { isOnLane = true }
  }
}
