/// Redirection: the refusal of a cluster server that could not run a command itself. Pure.
enum Redirect: Equatable {
  /// The slot has another owner from now on.
  case moved(KeySlot, RedisAddress)
  /// The slot is moving, and this key has already arrived at the given address. The command must be sent there once,
  /// after `ASKING`.
  case ask(RedisAddress)
  /// Some keys of one command have arrived at the new owner, and others have not.
  case tryAgain
  /// The cluster, or this slot, has no server at the moment.
  case clusterDown

  /// Reads a redirection from a refusal.
  ///
  /// Source: Redis Cluster specification, "MOVED Redirection": `MOVED slot host:port`. An empty host means the server
  /// that was asked. An IPv6 address has colons and no brackets, so the port follows the last colon.
  ///
  /// - Parameters:
  ///   - error: the refusal.
  ///   - asked: the server that refused.
  ///   - reachable: the reachable addresses of servers that announce an unreachable address. The keys are the announced
  ///     addresses.
  /// - Returns: `nil` for any other refusal.
  init?(_ error: RedisServerError, from asked: RedisAddress, reachable: [RedisAddress: RedisAddress] = [:]) {
    switch error.code {
    case .tryAgain: self = .tryAgain
    case .clusterDown: self = .clusterDown
    case .moved, .ask:
      let words = error.message.split(separator: " ")
      guard words.count >= 2, let slot = Int(words[0]).flatMap({ KeySlot($0) }),
        let colon = words[1].lastIndex(of: ":"), let port = UInt16(words[1][words[1].index(after: colon)...]), port > 0
      else { return nil }
      var host = String(words[1][..<colon])
      if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
      guard host != "?" else { return nil }
      let announced = RedisAddress(host: host.isEmpty ? asked.host : host, port: port)
      let address = reachable[announced] ?? announced
      self = error.code == .ask ? .ask(address) : .moved(slot, address)
    default: return nil
    }
  }
}
