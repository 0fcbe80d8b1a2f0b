/// Map of a cluster's slots to servers. Pure.
struct ClusterMap: Equatable, Sendable {
  private static let noOwner = UInt16.max

  /// The primaries that had slots when the map was read. Slots may have moved since.
  private(set) var primaries: [RedisAddress] = []
  /// All servers, including replicas. Each of them can return the map.
  private(set) var servers: [RedisAddress] = []
  /// Index of the primary in ``primaries``, by slot.
  private var ownerOfSlot = Array(repeating: noOwner, count: KeySlot.count)

  /// Parses the answer to `CLUSTER SLOTS`.
  ///
  /// Source: Redis documentation, CLUSTER SLOTS. An empty or missing host means the server that answered. `?` means a
  /// server whose address is unknown.
  ///
  /// - Parameters:
  ///   - reply: the answer.
  ///   - asked: the server that answered.
  ///   - reachable: the reachable addresses of servers that announce an unreachable address. The keys are the announced
  ///     addresses.
  /// - Returns: `nil` if the answer has another format.
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

  /// Returns the owner of a slot; `nil` if it has none.
  func owner(of slot: KeySlot) -> RedisAddress? {
    let owner = ownerOfSlot[Int(slot.number)]
    return owner == Self.noOwner ? nil : primaries[Int(owner)]
  }

  /// Primaries that have slots.
  var owners: [RedisAddress] {
    var has = Array(repeating: false, count: primaries.count)
    for owner in ownerOfSlot where owner != Self.noOwner { has[Int(owner)] = true }
    return zip(primaries, has).filter(\.1).map(\.0)
  }

  /// Records the new owner of a slot.
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
