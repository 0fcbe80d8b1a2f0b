/// Which server of a cluster has which slots. Pure.
struct ClusterMap: Equatable, Sendable {
  private static let nobody = UInt16.max

  /// The primaries that have slots, or had some when the map was read.
  private(set) var primaries: [RedisAddress] = []
  /// All servers, replicas too: any of them can be asked for the map.
  private(set) var servers: [RedisAddress] = []
  /// By slot, which of the primaries.
  private var ownerOfSlot = Array(repeating: nobody, count: KeySlot.count)

  /// Reads the answer to `CLUSTER SLOTS`.
  ///
  /// Source: Redis documentation, CLUSTER SLOTS: an empty or absent host is the one that was asked, `?` one that the server
  /// does not know.
  ///
  /// - Parameters:
  ///   - reply: the answer.
  ///   - asked: who gave it.
  ///   - reachable: where a server is reached that says to be elsewhere.
  /// - Returns: `nil` for what is no such answer.
  init?(parsing reply: RedisReply, from asked: RedisAddress, reachable: [RedisAddress: RedisAddress] = [:]) {
    guard reply.kind == .array else { return nil }
    for range in reply {
      guard range.count >= 3, let first = range[0].integer, let last = range[1].integer, first <= last,
        KeySlot(first) != nil, KeySlot(last) != nil
      else { return nil }
      for position in 2..<range.count {
        let server = range[position]
        guard server.count >= 2, let port = server[1].integer.flatMap({ UInt16(exactly: $0) }) else { return nil }
        let host = server[0].string ?? ""
        guard host != "?", port != 0 else { continue }
        let announced = RedisAddress(host: host.isEmpty ? asked.host : host, port: port)
        let address = reachable[announced] ?? announced
        if !servers.contains(address) { servers.append(address) }
        guard position == 2 else { continue }
        let owner = index(of: address)
        for slot in first...last { ownerOfSlot[slot] = owner }
      }
    }
  }

  /// Who has a slot; `nil` when nobody does.
  func owner(of slot: KeySlot) -> RedisAddress? {
    let owner = ownerOfSlot[Int(slot.number)]
    return owner == Self.nobody ? nil : primaries[Int(owner)]
  }

  /// The primaries that have slots.
  var owners: [RedisAddress] {
    var has = Array(repeating: false, count: primaries.count)
    for owner in ownerOfSlot where owner != Self.nobody { has[Int(owner)] = true }
    return zip(primaries, has).filter(\.1).map(\.0)
  }

  /// Takes note of where a slot is now.
  mutating func move(_ slot: KeySlot, to address: RedisAddress) {
    ownerOfSlot[Int(slot.number)] = index(of: address)
    if !servers.contains(address) { servers.append(address) }
  }

  private mutating func index(of address: RedisAddress) -> UInt16 {
    if let index = primaries.firstIndex(of: address) { return UInt16(index) }
    primaries.append(address)
    return UInt16(primaries.count - 1)
  }
}
