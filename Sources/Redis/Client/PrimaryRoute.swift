import EventLoop

/// Finds the server for one connection. This is the server at the address in the URL, the primary that the sentinels
/// name, or, in a cluster, the server with the slot of ``RedisOptions/home``.
///
/// Not `Sendable`: it belongs to the actor that owns the connection.
final class PrimaryRoute {
  private enum Guide {
    case none
    case sentinels(SentinelMonitor)
    case cluster(ClusterMonitor, KeySlot)
  }

  private let url: RedisURL
  private let guide: Guide
  /// Id of the listener that this route has added to the monitor of the sentinels or the cluster.
  private var listener: UInt64?
  /// Address of the primary, as last reported.
  private var primary: RedisAddress?
  /// The last reported address of the primary, if its server was not a primary.
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

  /// Whether the route looks for a primary; false if the URL names a single server.
  private var isOfPrimary: Bool { if case .none = guide { false } else { true } }

  /// Returns the URL of the server to which the next connection goes.
  ///
  /// - Parameter primaryMoved: called on a thread of the monitor for each report of the primary's address, until
  ///   ``close()``. The callee must pass the address to ``moves(to:)``.
  func target(_ primaryMoved: @escaping @Sendable (RedisAddress) -> Void) async throws(RedisError) -> RedisURL {
    let address: RedisAddress
    switch guide {
    case .none: return url
    case .sentinels(let monitor):
      if listener == nil { listener = await monitor.add(primaryMoved) }
      address = try await monitor.primary(doubting: doubted)
    case .cluster(let monitor, let slot):
      if listener == nil {
        listener = await monitor.add { map in if let owner = map.owner(of: slot) { primaryMoved(owner) } }
      }
      let map = if let doubted { try await monitor.map(doubting: doubted) } else { try await monitor.map() }
      guard let owner = map.owner(of: slot) else {
        throw RedisError(
          .notReady, "no server of the cluster has the slot \(slot.number)", endpoint: url.endpoint,
          hint: "CLUSTER INFO and CLUSTER NODES on any server show the slots without a server.")
      }
      address = owner
    }
    doubted = nil
    primary = address
    return url.at(address)
  }

  /// Connects to the server that ``target(_:)`` returned. After a failure, the next call of ``target(_:)`` looks for
  /// another server.
  ///
  /// - Parameters:
  ///   - scripts: the scripts to load before the first call.
  ///   - mustBePrimary: whether the server must accept writes even if the URL names a single server.
  func connect(
    to target: RedisURL, options: RedisOptions, scripts: [RedisScript] = [], mustBePrimary: Bool = false,
    on loop: EventLoop
  ) async throws(RedisError) -> RedisConnection {
    do throws(RedisError) {
      return try await RedisConnection.connect(
        to: target, options: options, scripts: scripts, isPrimary: mustBePrimary || isOfPrimary, on: loop)
    } catch {
      doubt()
      throw error
    }
  }

  /// Returns whether a server is still the primary, as far as this route knows.
  func isCurrent(_ target: RedisURL) -> Bool { isOfPrimary ? primary == target.addresses[0] : true }

  /// Handles a report of the primary's address. Returns whether the connection to the previous primary must be closed,
  /// because another server is the primary now.
  func moves(to address: RedisAddress) -> Bool {
    defer { primary = address }
    return address != primary
  }

  /// Records that the last server was not a primary. Another sentinel or cluster server may know the right address.
  func doubt() { doubted = primary }

  /// Removes the listener from the monitor.
  func close() async {
    guard let listener else { return }
    self.listener = nil
    switch guide {
    case .none: break
    case .sentinels(let monitor): await monitor.remove(listener)
    case .cluster(let monitor, _): await monitor.remove(listener)
    }
  }
}
