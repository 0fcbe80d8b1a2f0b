/// A call to a cluster: which of its commands are yet to be asked, and whom. Pure.
///
/// The commands of a slot are asked in their order. Where a slot is just moving, one that is told to be asked elsewhere
/// runs after later ones that were not.
struct ClusterCall {
  /// Commands for one server.
  struct Part {
    let address: RedisAddress
    /// Whether they go there for this once only: each behind `ASKING`.
    let isAsking: Bool
    /// Which commands of the call they are.
    fileprivate(set) var positions: [Int]
    fileprivate(set) var pipeline: RedisPipeline
  }

  /// What a server's answers came to.
  struct Outcome {
    /// Slots that live elsewhere now.
    var moved: [(slot: KeySlot, address: RedisAddress)] = []
    /// Something is to be asked once more.
    var isRedirected = false
    /// Something is to be asked once more after a while: keys are on their way.
    var hasArriving = false
    /// Something is to be asked once more after a while: nobody serves the slot.
    var hasUnserved = false
  }

  private let pipeline: RedisPipeline
  private let slots: [KeySlot]
  private var replies: [RedisReply?]
  /// What is yet to be asked, in its order.
  private var open: [Int]
  /// By command, who has its key while the slot has another owner.
  private var detours: [Int: RedisAddress] = [:]
  /// Whether a command has been run.
  private(set) var hasRun = false

  /// - Parameters:
  ///   - pipeline: the commands, at least one.
  ///   - home: the slot of those that name no key and stand behind none that does.
  init(_ pipeline: RedisPipeline, home: KeySlot) {
    self.pipeline = pipeline
    slots = pipeline.slots(home: home)
    replies = Array(repeating: nil, count: pipeline.count)
    open = Array(0..<pipeline.count)
  }

  /// Whether everything has an answer.
  var isComplete: Bool { open.isEmpty }

  /// How many commands are yet to be asked.
  var openCount: Int { open.count }

  /// The slot of a command that is yet to be asked; `nil` when there is none.
  var openSlot: KeySlot? { open.first.map { slots[$0] } }

  /// What each server is to be asked now. What nobody has the slot of is left out.
  func parts(by map: ClusterMap) -> [Part] {
    if open.count == pipeline.count, detours.isEmpty, let only = onlyOwner(by: map) {
      return [Part(address: only, isAsking: false, positions: open, pipeline: pipeline)]
    }
    var parts: [Part] = []
    for position in open {
      let detour = detours[position]
      guard let address = detour ?? map.owner(of: slots[position]) else { continue }
      let isAsking = detour != nil
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

  /// Takes note of a part's answers.
  mutating func note(
    _ answers: [RedisReply], of part: Part, reachable: [RedisAddress: RedisAddress] = [:]
  ) -> Outcome {
    var outcome = Outcome()
    for (index, position) in part.positions.enumerated() {
      let reply = answers[part.isAsking ? 2 * index + 1 : index]
      replies[position] = reply
      detours[position] = nil
      guard let error = reply.error, let redirect = Redirect(error, from: part.address, reachable: reachable) else {
        open.removeAll { $0 == position }
        hasRun = true
        continue
      }
      outcome.isRedirected = true
      switch redirect {
      case .moved(let slot, let address): outcome.moved.append((slot, address))
      case .ask(let address): detours[position] = address
      case .tryAgain:
        outcome.hasArriving = true
        // Where the keys arrive is asked, should that be where it was.
        if part.isAsking { detours[position] = part.address }
      case .clusterDown: outcome.hasUnserved = true
      }
    }
    return outcome
  }

  /// The answers, the last refusals among them where the call is not complete.
  ///
  /// - Returns: `nil` when something was never answered.
  var answers: [RedisReply]? {
    let answers = replies.compactMap { $0 }
    return answers.count == replies.count ? answers : nil
  }
}
