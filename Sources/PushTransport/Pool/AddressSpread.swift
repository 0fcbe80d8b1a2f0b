/// Assigns addresses of the service to the connections of a pool. If the service has several addresses, different
/// connections use different addresses. The type does no I/O.
///
/// Apple's engineers recommend a fresh lookup for each connection and a different address for each. Engines look up the
/// name, shuffle the addresses, and offer one after the other. This type declines an address that another connection
/// uses. It accepts such an address if no other address is known, if the last opening of this connection has failed, or
/// if this opening has already tried another address. For example, IPv6 may not work on this machine while another
/// connection uses the only IPv4 address.
struct AddressSpread: Sendable {
  /// Maximum number of known addresses. A lookup returns fewer. When the number is reached, all known addresses are
  /// removed.
  static let capacity = 64

  private var known: Set<String> = []
  /// Addresses in use, by connection.
  private var inUse: [Int: String] = [:]
  /// Connections whose last opening failed. They accept any address.
  private var acceptingAny: Set<Int> = []

  /// Returns whether a connection that is being opened may use an address. If so, the address counts as in use.
  mutating func admits(_ address: String, for connection: Int) -> Bool {
    if known.count >= Self.capacity { known = [] }
    known.insert(address)
    let others = Set(inUse.filter { $0.key != connection }.values)
    let isTaken = others.contains(address) && !known.isSubset(of: others)
    if isTaken, !acceptingAny.contains(connection), inUse[connection] == nil { return false }
    inUse[connection] = address
    return true
  }

  /// Records that the service accepted a push on a connection.
  mutating func established(_ connection: Int) { acceptingAny.remove(connection) }

  /// Records that a connection was closed.
  mutating func closed(_ connection: Int) { inUse[connection] = nil }

  /// Records that a connection could not be opened, or broke.
  mutating func failed(_ connection: Int) {
    closed(connection)
    acceptingAny.insert(connection)
  }
}
