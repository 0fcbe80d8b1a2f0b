import PushCore
import Redis
import ServiceTools

/// The section `redis`.
extension ConfigurationReader {
  private static let schemes = ["redis", "rediss", "sentinel", "cluster"]

  func readRedis(_ section: ConfigurationSection) throws(ConfigurationError) -> CarillonConfiguration.Redis {
    let url = try section.string("url") ?? "redis://127.0.0.1:6379/0"
    guard let scheme = url.firstRange(of: "://").map({ url[..<$0.lowerBound].lowercased() }),
      Self.schemes.contains(scheme)
    else {
      // The URL may contain a password, so the message does not repeat it.
      throw section.error(
        "url", "must begin with redis://, rediss://, sentinel:// or cluster://",
        hint: "such as redis://127.0.0.1:6379/0")
    }
    guard scheme != "redis" || !section.has("tls") else {
      throw section.error(
        "tls", "can't be combined with a URL without TLS, redis://",
        hint: "use rediss:// in redis.url, or remove redis.tls")
    }
    let namespace = try section.string("namespace") ?? "carillon"
    guard Self.isName(namespace) else {
      // A brace would break the hash tags, which keep related keys in one slot.
      throw section.error("namespace", "\(Excerpt.quoted(namespace)) is not \(Self.nameForm)")
    }
    return CarillonConfiguration.Redis(
      url: url, user: try section.string("user"), passwordFile: try section.string("passwordFile").map(resolve),
      tls: try readRedisTLS(section, named: "redis.tls"), sentinel: try readSentinel(section, scheme),
      clusterAddresses: try readCluster(section, scheme), namespace: namespace,
      // Redis Cluster has 16,384 slots. More partitions than slots would have a cost but no benefit.
      partitions: try section.integer("partitions", in: 1...16384),
      feedbackLength: try section.integer("feedbackLength", in: 1...100_000_000, default: 1_000_000),
      // The number is limited because every registration reads and writes the user's whole record.
      devicesPerUser: try section.integer("devicesPerUser", in: 1...1000, default: 100),
      streamLength: try section.integer("streamLength", in: 0...10_000_000, default: 0))
  }

  private func readSentinel(
    _ parent: ConfigurationSection, _ scheme: String
  ) throws(ConfigurationError) -> CarillonConfiguration.Sentinel {
    let section = try parent.section("sentinel", keys: schema["redis.sentinel"])
    guard scheme == "sentinel" || section.keys.isEmpty else {
      throw parent.error(
        "sentinel", "can't be combined with a URL without sentinels",
        hint: "use sentinel://HOST,HOST/NAME in redis.url, or remove redis.sentinel")
    }
    let sentinel = CarillonConfiguration.Sentinel(
      user: try section.string("user"), passwordFile: try section.string("passwordFile").map(resolve),
      tls: try readRedisTLS(section, named: "redis.sentinel.tls"))
    guard sentinel.user == nil || sentinel.passwordFile != nil else {
      throw section.error(
        "user", "has no password", hint: "set passwordFile to a file with the password in its first line")
    }
    return sentinel
  }

  private func readCluster(
    _ parent: ConfigurationSection, _ scheme: String
  ) throws(ConfigurationError) -> [RedisAddress: RedisAddress] {
    let section = try parent.section("cluster", keys: schema["redis.cluster"])
    var addresses: [RedisAddress: RedisAddress] = [:]
    for pair in try section.string("addresses")?.split(separator: ",") ?? [] {
      let sides = pair.split(separator: "=", omittingEmptySubsequences: false)
      guard sides.count == 2, let announced = RedisAddress(sides[0].trimmed),
        let reached = RedisAddress(sides[1].trimmed)
      else {
        throw section.error(
          "addresses", "\(Excerpt.quoted(pair.trimmed)) is not ANNOUNCED=REACHED, each HOST:PORT",
          hint: "such as 10.0.0.1:6379=redis.example.com:7001, 10.0.0.2:6379=redis.example.com:7002")
      }
      guard addresses.updateValue(reached, forKey: announced) == nil else {
        throw section.error("addresses", "\(announced) is listed twice", hint: "remove one of the two")
      }
    }
    guard scheme == "cluster" || section.keys.isEmpty else {
      throw parent.error(
        "cluster", "can't be combined with a URL without a cluster",
        hint: "use cluster://HOST,HOST in redis.url, or remove redis.cluster")
    }
    return addresses
  }

  /// Reads a subsection `tls`.
  ///
  /// - Returns: `nil` if the section is missing.
  private func readRedisTLS(
    _ parent: ConfigurationSection, named name: String
  ) throws(ConfigurationError) -> CarillonConfiguration.RedisTLS? {
    guard parent.has("tls") else { return nil }
    let section = try parent.section("tls", keys: schema[name])
    let tls = CarillonConfiguration.RedisTLS(
      trustRoots: try trustRoots(of: section),
      certificate: try section.string("certificate").map(resolve), key: try section.string("key").map(resolve),
      serverName: try section.string("serverName"))
    guard (tls.certificate == nil) == (tls.key == nil) else {
      throw section.error(
        tls.key == nil ? "certificate" : "key", "needs a \(tls.key == nil ? "key" : "certificate") too",
        hint: "set both; they may be in one file")
    }
    return tls
  }
}

extension Substring {
  fileprivate var trimmed: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
}
