internal import Synchronization

/// How often a sender changes its provider token (reference 2.5): the first change is free, the next one may come no
/// sooner than the interval later. The token before the last is still good, because requests overtake each other.
struct TokenUpdates {
  private var current: [UInt8] = []
  private var former: [UInt8] = []
  private var changedAt: Int64?

  /// - Parameters:
  ///   - token: as it came, valid or not.
  ///   - interval: seconds between two changes.
  ///   - now: seconds since 1970.
  /// - Returns: whether the token may be looked at.
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

/// The same by address, as was seen where servers share one. Shared by all event loops.
final class TokenUpdatesByAddress: Sendable {
  /// More addresses than a test bench has; beyond it all are forgotten.
  private static let mostAddresses = 10_000
  private let addresses = Mutex<[String: TokenUpdates]>([:])

  func admit(_ token: [UInt8], from address: String, interval: Int64, now: Int64) -> Bool {
    addresses.withLock { addresses in
      if addresses.count >= Self.mostAddresses, addresses[address] == nil { addresses.removeAll() }
      return addresses[address, default: TokenUpdates()].admit(token, interval: interval, now: now)
    }
  }

  func removeAll() { addresses.withLock { $0.removeAll() } }
}
