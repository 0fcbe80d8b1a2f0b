/// All data in Redis that concern one campaign.
public struct StoreState: Sendable {
  public internal(set) var slices = Four(repeating: SliceState())
  public internal(set) var control: ControlState

  /// Creates the state before the campaign's job is activated.
  public init(slices: Int) { control = ControlState(slices: slices) }

  /// Executes a call.
  public mutating func apply(_ call: StoreCall, now: Int, rules: Rules) -> StoreReply {
    var reply = StoreReply()
    switch call.kind {
    case .activate: control.activate()
    case .look: reply.state = control.state
    case .dequeue: reply = control.dequeue(call, now: now)
    case .claim: reply = slices[call.slice].claim(call, now: now, rules: rules)
    case .append: reply = slices[call.slice].append(call)
    case .seal: reply = slices[call.slice].seal(call, now: now, rules: rules)
    case .commit, .replay: reply = slices[call.slice].commit(call, now: now, rules: rules)
    case .regrant: reply = slices[call.slice].regrant(call, rules: rules)
    case .depart: slices[call.slice].depart(call.target, rules: rules)
    case .read:
      let slice = slices[call.slice]
      reply.phase = slice.phase
      reply.seal = slice.seal
      reply.isOwner = slice.claim == call.claim
      // The worker reads only the records below the mark that it knows.
      for index in 0..<call.highWater where index < slice.count {
        reply.records.set(
          index, slice.state[index], attempt: slice.attempt[index], isAmbiguous: slice.ambiguous.contains(index))
      }
    case .unclaim: reply = slices[call.slice].unclaim(call)
    case .close: reply = slices[call.slice].close(call, rules: rules)
    case .finish: reply = control.finish(call, rules: rules)
    case .park, .postpone: reply = control.park(call, now: now)
    case .requeue: reply = control.requeue(call, rules: rules)
    case .dismiss: control.processing[call.name].remove(call.slice)
    case .heartbeat: control.heartbeat(call.name, now: now)
    case .inspect:
      let slice = slices[call.slice]
      reply.ticks = slice.lease - now
      reply.isOwner = slice.owner == call.name
      reply.state = control.state
    case .removeWorker: control.removeWorker(call.name)
    case .reopen: control.reopen()
    case .control: control.apply(call.verb)
    case .unpark: control.unpark()
    }
    return reply
  }
}
