/// Where somebody who keeps a connection connects to: what a URL says, or where its sentinels say that the primary is.
///
/// Not `Sendable`: it belongs to the actor that keeps the connection.
final class PrimaryRoute {
  private let url: RedisURL
  private let watch: SentinelWatch?
  /// What ``watch`` knows us by.
  private var listener: UInt64?
  /// Where the primary is, as heard last.
  private var primary: RedisAddress?
  /// Where it was said to be, and was not.
  private var doubted: RedisAddress?

  init(_ url: RedisURL, sentinel options: SentinelOptions) {
    self.url = url
    if case .sentinel(let name) = url.topology {
      watch = .shared(sentinels: url.addresses, name: name, options: options)
    } else {
      watch = nil
    }
  }

  /// Whether only a primary will do.
  var isOfPrimary: Bool { watch != nil }

  /// Where to connect to now.
  ///
  /// - Parameter heard: called, on a thread of the watch's, each time that a sentinel says where the primary is, until
  ///   ``close()``; give it to ``moves(to:)``.
  func target(_ heard: @escaping @Sendable (RedisAddress) -> Void) async throws(RedisError) -> RedisURL {
    guard let watch else { return url }
    if listener == nil { listener = await watch.add(heard) }
    let address = try await watch.primary(doubting: doubted)
    doubted = nil
    primary = address
    return url.at(address)
  }

  /// Whether a target is, as far as is known, still the one.
  func isCurrent(_ target: RedisURL) -> Bool { watch == nil || primary == target.addresses[0] }

  /// Whether a connection to the primary before is to be left: there is another.
  func moves(to address: RedisAddress) -> Bool {
    defer { primary = address }
    return address != primary
  }

  /// No primary was found at the last target: another sentinel may know better.
  func doubt() { doubted = primary }

  /// Listens no more.
  func close() async {
    if let listener { await watch?.remove(listener) }
    listener = nil
  }
}
