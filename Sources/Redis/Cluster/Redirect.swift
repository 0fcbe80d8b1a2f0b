/// What a server of a cluster says instead of running a command. Pure.
enum Redirect: Equatable {
  /// The slot lives elsewhere, for good.
  case moved(KeySlot, RedisAddress)
  /// The slot is on its way, and this key has arrived already: to be asked there, once, behind `ASKING`.
  case ask(RedisAddress)
  /// Of the keys of one command some have arrived and some have not.
  case tryAgain
  /// The cluster, or this slot, has nobody who answers just now.
  case clusterDown

  /// Reads a refusal.
  ///
  /// Source: Redis Cluster specification, "MOVED Redirection": `MOVED slot host:port`. An empty host is the one that was
  /// asked; an IPv6 address has colons of its own and no brackets, so the port stands behind the last one.
  ///
  /// - Parameters:
  ///   - error: the refusal.
  ///   - asked: whose it is.
  ///   - reachable: where a server is reached that says to be elsewhere.
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
