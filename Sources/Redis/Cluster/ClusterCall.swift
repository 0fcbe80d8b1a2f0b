/// A call to a cluster: its commands without an answer, and the server for each of them. Pure.
///
/// The commands of a slot are sent in their order. While a slot is moving, a redirected command may run after later
/// commands that were not redirected.
struct ClusterCall {
  /// Commands for one server.
  struct Part {
    let address: RedisAddress
    /// Whether the commands were redirected with `ASK`. The server then runs each of them only after an `ASKING`.
    let isAsking: Bool
    /// Positions of the commands in the call.
    fileprivate(set) var positions: [Int]
    fileprivate(set) var pipeline: RedisPipeline
  }

  /// Consequences of the answers of a server.
  struct Outcome {
    /// Slots for which the server has named another owner.
    var moved: [(slot: KeySlot, address: RedisAddress)] = []
    /// Whether at least one command must be sent again.
    var isRedirected = false
    /// Whether at least one command must be sent again after a pause, because its keys are moving.
    var hasArriving = false
    /// Whether at least one command must be sent again after a pause, because no server serves its slot.
    var hasUnserved = false
  }

  private let pipeline: RedisPipeline
  private let slots: [KeySlot]
  private var replies: [RedisReply?]
  /// Positions of the commands without an answer, in their order.
  private var open: [Int]
  /// The servers for commands that were redirected with `ASK`, by the position of the command.
  private var askTargets: [Int: RedisAddress] = [:]
  /// Whether a server has executed at least one command of the call.
  private(set) var hasRun = false

  /// - Parameters:
  ///   - pipeline: the commands, at least one.
  ///   - home: the slot for commands without a key, if no command with a key precedes them.
  init(_ pipeline: RedisPipeline, home: KeySlot) {
    self.pipeline = pipeline
    slots = pipeline.slots(home: home)
    replies = Array(repeating: nil, count: pipeline.count)
    open = Array(0..<pipeline.count)
  }

  /// Whether all commands have an answer.
  var isComplete: Bool { open.isEmpty }

  /// Number of commands without an answer.
  var openCount: Int { open.count }

  /// Slot of the first command without an answer; `nil` if there is none.
  var openSlot: KeySlot? { open.first.map { slots[$0] } }

  /// Returns the commands to send to each server now. Commands for slots without an owner are left out.
  func parts(by map: ClusterMap) -> [Part] {
    if open.count == pipeline.count, askTargets.isEmpty, let only = onlyOwner(by: map) {
      return [Part(address: only, isAsking: false, positions: open, pipeline: pipeline)]
    }
    var parts: [Part] = []
    for position in open {
      let askTarget = askTargets[position]
      guard let address = askTarget ?? map.owner(of: slots[position]) else { continue }
      let isAsking = askTarget != nil
      let index =
        parts.firstIndex { $0.address == address && $0.isAsking == isAsking }
        ?? {
          parts.append(Part(address: address, isAsking: isAsking, positions: [], pipeline: RedisPipeline()))
          return parts.count - 1
        }()
      if isAsking { parts[index].pipeline.append("ASKING") }
      parts[index].pipeline.append(position, of: pipeline)
      parts[index].positions.append(position)
    }
    return parts
  }

  private func onlyOwner(by map: ClusterMap) -> RedisAddress? {
    guard let owner = map.owner(of: slots[0]) else { return nil }
    var last = slots[0]
    for slot in slots where slot != last {
      guard map.owner(of: slot) == owner else { return nil }
      last = slot
    }
    return owner
  }

  /// Records the answers to a part.
  mutating func record(
    _ answers: [RedisReply], of part: Part, reachable: [RedisAddress: RedisAddress] = [:]
  ) -> Outcome {
    var outcome = Outcome()
    for (index, position) in part.positions.enumerated() {
      let reply = answers[part.isAsking ? 2 * index + 1 : index]
      replies[position] = reply
      askTargets[position] = nil
      guard let error = reply.error, let redirect = Redirect(error, from: part.address, reachable: reachable) else {
        open.removeAll { $0 == position }
        hasRun = true
        continue
      }
      outcome.isRedirected = true
      switch redirect {
      case .moved(let slot, let address): outcome.moved.append((slot, address))
      case .ask(let address): askTargets[position] = address
      case .tryAgain:
        outcome.hasArriving = true
        // A command that was sent to the new owner of the slot must be sent there again.
        if part.isAsking { askTargets[position] = part.address }
      case .clusterDown: outcome.hasUnserved = true
      }
    }
    return outcome
  }

  /// The answers to all commands. If the call is not complete, the answers to the remaining commands are their last
  /// refusals.
  ///
  /// - Returns: `nil` if at least one command has no answer and no refusal.
  var answers: [RedisReply]? {
    let answers = replies.compactMap { $0 }
    return answers.count == replies.count ? answers : nil
  }
}
