/// When which server of a cluster is asked for the map of slots. Pure: events in, actions out.
///
///     resting ── wanted, doubted, timer ──▶ asking ── answered ──▶ settling: found, pause
///        ▲                                  │ ▲
///        │                       failed     ▼ │ while there is another
///        │                                 next ── all were asked ──▶ settling: not found, pause
///        └────────── timer, and nobody asked meanwhile ◀── settling
///
/// Any server may be wrong: one that was cut off tells of the map before. Whoever meets with something else says so
/// (`doubted`), and another one is asked. While it settles nobody is asked: what is wanted then is asked for at its end.
struct ClusterTopology {
  enum Event: Equatable {
    /// Somebody needs a map, or one that is newer.
    case wanted
    /// Somebody can't reach a server of the map, or got no answer from it.
    case doubted(RedisAddress)
    /// A server said by itself where a slot is.
    case moved(KeySlot, RedisAddress)
    /// The server that was asked has answered.
    case answered(ClusterMap)
    /// The server that was asked can't be reached, says nothing, or nothing of use.
    case failed
    /// The wait is over.
    case timer
  }

  enum Action: Equatable {
    /// Ask a server, then tell `answered` or `failed`.
    case ask(RedisAddress)
    /// Tell whoever waits, and whoever has connections.
    case found(ClusterMap)
    /// Tell whoever waits.
    case notFound
    /// Tell `timer` when the pause is over.
    case pause
    /// Tell `timer` when the refresh interval is over.
    case rest
  }

  private enum Phase {
    case resting
    /// Those that are left to ask, the one that is asked first.
    case asking([RedisAddress])
    case settling(isWanted: Bool)
  }

  private let seeds: [RedisAddress]
  private(set) var map: ClusterMap?
  private var phase = Phase.resting
  /// Whom somebody could not reach: asked last.
  private var doubted: Set<RedisAddress> = []
  /// By how many places the list of servers is turned, so that not always the same one is asked.
  private var turn: Int

  /// - Parameters:
  ///   - seeds: the servers that the URL names, at least one.
  ///   - turn: which server is asked first, so that not all processes ask the same.
  init(seeds: [RedisAddress], turn: Int = 0) {
    self.seeds = seeds
    self.turn = turn
  }

  mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .wanted:
      return begin()
    case .doubted(let address):
      doubted.insert(address)
      return begin()
    case .moved(let slot, let address):
      // One slot is known to have moved: others may have too.
      map?.move(slot, to: address)
      return begin()
    case .answered(let map):
      guard case .asking = phase else { return [] }
      self.map = map
      doubted = []
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

  /// Known servers, then those of the URL, which may lead to a cluster that has wholly moved; the doubted ones last.
  private mutating func candidates() -> [RedisAddress] {
    var known = map?.servers ?? []
    turn += 1
    if !known.isEmpty { known = Array(known[(turn % known.count)...] + known[..<(turn % known.count)]) }
    let all = known + seeds.filter { !known.contains($0) }
    return all.filter { !doubted.contains($0) } + all.filter { doubted.contains($0) }
  }
}
