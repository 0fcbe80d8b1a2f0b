internal import Synchronization

/// Rate limit for the changes of the provider token by one sender. Apple allows a change every 20 minutes. The first
/// change is free; the next one must wait for the interval. The previous token stays valid too, because requests may
/// overtake each other.
struct TokenUpdates {
  private var current: [UInt8] = []
  private var former: [UInt8] = []
  private var changedAt: Int64?

  /// Records the provider token of a request, and checks the rate of changes.
  ///
  /// - Parameters:
  ///   - token: as received, valid or not.
  ///   - interval: seconds between two changes.
  ///   - now: seconds since 1970.
  /// - Returns: whether the token may be verified.
  mutating func admit(_ token: [UInt8], interval: Int64, now: Int64) -> Bool {
    if token == current || token == former { return true }
    if current.isEmpty {
      current = token
      return true
    }
    if let changedAt, now - changedAt < interval { return false }
    former = current
    current = token
    changedAt = now
    return true
  }
}

/// Applies the limit of ``TokenUpdates`` to all connections of a client address together. According to reports, APNs
/// does this for servers that share an address. Shared by all event loops.
final class TokenUpdatesByAddress: Sendable {
  /// Maximum number of stored addresses. A test setup has fewer. When the number is reached, the simulator removes all
  /// addresses.
  private static let maximumAddresses = 10_000
  private let addresses = Mutex<[String: TokenUpdates]>([:])

  func admit(_ token: [UInt8], from address: String, interval: Int64, now: Int64) -> Bool {
    addresses.withLock { addresses in
      if addresses.count >= Self.maximumAddresses, addresses[address] == nil { addresses.removeAll() }
      return addresses[address, default: TokenUpdates()].admit(token, interval: interval, now: now)
    }
  }

  func removeAll() { addresses.withLock { $0.removeAll() } }
}
