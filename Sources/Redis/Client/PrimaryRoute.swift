/// Where somebody who keeps a connection connects to: what a URL says, where its sentinels say that the primary is, or in a
/// cluster who has the slot of ``RedisOptions/home``.
///
/// Not `Sendable`: it belongs to the actor that keeps the connection.
final class PrimaryRoute {
  private enum Guide {
    case none
    case sentinels(SentinelWatch)
    case cluster(ClusterWatch, KeySlot)
  }

  private let url: RedisURL
  private let guide: Guide
  /// What the watch knows us by.
  private var listener: UInt64?
  /// Where the primary is, as heard last.
  private var primary: RedisAddress?
  /// Where it was said to be, and was not.
  private var doubted: RedisAddress?

  init(_ url: RedisURL, options: RedisOptions) {
    self.url = url
    guide =
      switch url.topology {
      case .single: .none
      case .sentinel(let name):
        .sentinels(.shared(sentinels: url.addresses, name: name, options: options.sentinel))
      case .cluster: .cluster(.shared(url, options: options), KeySlot(of: options.home))
      }
  }

  /// Whether only a primary will do.
  var isOfPrimary: Bool { if case .none = guide { false } else { true } }

  /// Where to connect to now.
  ///
  /// - Parameter heard: called, on a thread of the watch's, each time that it is heard where the primary is, until
  ///   ``close()``; give it to ``moves(to:)``.
  func target(_ heard: @escaping @Sendable (RedisAddress) -> Void) async throws(RedisError) -> RedisURL {
    let address: RedisAddress
    switch guide {
    case .none: return url
    case .sentinels(let watch):
      if listener == nil { listener = await watch.add(heard) }
      address = try await watch.primary(doubting: doubted)
    case .cluster(let watch, let slot):
      if listener == nil {
        listener = await watch.add { map in if let owner = map.owner(of: slot) { heard(owner) } }
      }
      let map = if let doubted { try await watch.map(doubting: doubted) } else { try await watch.map() }
      guard let owner = map.owner(of: slot) else {
        throw RedisError(
          .notReady, "no server of the cluster has the slot \(slot.number)", endpoint: url.endpoint,
          hint: "CLUSTER INFO and CLUSTER NODES on any server say which slots nobody serves.")
      }
      address = owner
    }
    doubted = nil
    primary = address
    return url.at(address)
  }

  /// Whether a target is, as far as is known, still the one.
  func isCurrent(_ target: RedisURL) -> Bool { isOfPrimary ? primary == target.addresses[0] : true }

  /// Whether a connection to the primary before is to be left: there is another.
  func moves(to address: RedisAddress) -> Bool {
    defer { primary = address }
    return address != primary
  }

  /// No primary was found at the last target: another sentinel, or server, may know better.
  func doubt() { doubted = primary }

  /// Listens no more.
  func close() async {
    guard let listener else { return }
    self.listener = nil
    switch guide {
    case .none: break
    case .sentinels(let watch): await watch.remove(listener)
    case .cluster(let watch, _): await watch.remove(listener)
    }
  }
}
