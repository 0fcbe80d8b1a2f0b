/// To which addresses of the service the connections of a pool go: to different ones, where there are several. Pure.
///
/// Apple's engineers advise a fresh look-up for each connection, and not to use one address twice. Engines look up,
/// shuffle, and offer one address after the other; one that another connection has is declined, unless no other is
/// known, or declining has just led to nothing.
struct AddressSpread: Sendable {
  /// Addresses seen lately; more than a look-up returns, few enough to forget them all when there are more.
  static let capacity = 64

  private var known: Set<String> = []
  /// By connection.
  private var inUse: [Int: String] = [:]
  /// Connections whose last opening failed: they take what comes.
  private var undemanding: Set<Int> = []

  /// Whether a connection that is being opened may go to an address; if so, it counts as in use.
  mutating func admits(_ address: String, for connection: Int) -> Bool {
    if known.count >= Self.capacity { known = [] }
    known.insert(address)
    let others = Set(inUse.filter { $0.key != connection }.values)
    let isTaken = others.contains(address) && !known.isSubset(of: others)
    if isTaken, !undemanding.contains(connection) { return false }
    inUse[connection] = address
    return true
  }

  /// The service accepted a push on a connection.
  mutating func established(_ connection: Int) { undemanding.remove(connection) }

  /// A connection was closed.
  mutating func closed(_ connection: Int) { inUse[connection] = nil }

  /// A connection could not be opened, or broke.
  mutating func failed(_ connection: Int) {
    closed(connection)
    undemanding.insert(connection)
  }
}
