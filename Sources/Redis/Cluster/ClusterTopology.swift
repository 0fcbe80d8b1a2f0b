/// State machine that decides when to read the slot map, and from which server. Pure: events in, actions out.
///
///     resting ── wanted, suspected, timer ──▶ asking ── answered ──▶ settling: found, pause
///        ▲                                    │ ▲
///        │                         failed     ▼ │ while there is another
///        │                                   next ── all were asked ──▶ settling: not found, pause
///        └────────── timer, and no request in between ◀── settling
///
/// Any server may return a wrong map: a server that was cut off from the others has an old one. If a caller finds a
/// contradiction, it reports the server (`suspected`), and the machine asks another one. While the machine is settling,
/// it asks no server, and handles new requests at the end of the pause.
struct ClusterTopology {
  enum Event: Equatable {
    /// A caller needs a map, or needs a newer map.
    case wanted
    /// A caller can't reach a server of the map, or got no answer from it.
    case suspected(RedisAddress)
    /// A server reported the owner of a slot in a redirection.
    case moved(KeySlot, RedisAddress)
    /// The server that was asked has answered.
    case answered(ClusterMap)
    /// The server that was asked can't be reached, does not answer, or returns an unusable answer.
    case failed
    /// The wait is over.
    case timer
  }

  enum Action: Equatable {
    /// Ask a server, then report `answered` or `failed`.
    case ask(RedisAddress)
    /// Deliver the map to all waiting callers and listeners.
    case found(ClusterMap)
    /// Report the failure to all waiting callers.
    case notFound
    /// Report `timer` after the pause.
    case pause
    /// Report `timer` after the refresh interval.
    case rest
  }

  private enum Phase {
    case resting
    /// Servers that remain to be asked. The first one is being asked now.
    case asking([RedisAddress])
    case settling(isWanted: Bool)
  }

  private let seeds: [RedisAddress]
  private(set) var map: ClusterMap?
  private var phase = Phase.resting
  /// Servers that a caller could not reach; they are asked last.
  private var suspected: Set<RedisAddress> = []
  /// Number by which the list of servers is rotated, so that the search does not always begin with the same server.
  private var turn: Int

  /// - Parameters:
  ///   - seeds: the addresses in the URL, at least one.
  ///   - turn: selects the first server to ask, so that processes begin with different servers.
  init(seeds: [RedisAddress], turn: Int = 0) {
    self.seeds = seeds
    self.turn = turn
  }

  mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .wanted:
      return begin()
    case .suspected(let address):
      suspected.insert(address)
      return begin()
    case .moved(let slot, let address):
      // If one slot has moved, other slots may have moved too, so read the whole map.
      map?.move(slot, to: address)
      return begin()
    case .answered(let map):
      guard case .asking = phase else { return [] }
      self.map = map
      suspected = []
      phase = .settling(isWanted: false)
      return [.found(map), .pause]
    case .failed:
      guard case .asking(let servers) = phase else { return [] }
      let rest = Array(servers.dropFirst())
      guard let next = rest.first else {
        phase = .settling(isWanted: false)
        return [.notFound, .pause]
      }
      phase = .asking(rest)
      return [.ask(next)]
    case .timer:
      if case .settling(isWanted: false) = phase {
        phase = .resting
        return [.rest]
      }
      if case .settling = phase { phase = .resting }
      return begin()
    }
  }

  private mutating func begin() -> [Action] {
    switch phase {
    case .asking: return []
    case .settling:
      phase = .settling(isWanted: true)
      return []
    case .resting:
      let servers = candidates()
      phase = .asking(servers)
      return [.ask(servers[0])]
    }
  }

  /// Returns the servers to ask, in order: the known servers, the servers of the URL, and the suspected servers. If all
  /// known servers have gone, the servers of the URL can still answer.
  private mutating func candidates() -> [RedisAddress] {
    var known = map?.servers ?? []
    turn += 1
    if !known.isEmpty { known = Array(known[(turn % known.count)...] + known[..<(turn % known.count)]) }
    let all = known + seeds.filter { !known.contains($0) }
    return all.filter { !suspected.contains($0) } + all.filter { suspected.contains($0) }
  }
}
