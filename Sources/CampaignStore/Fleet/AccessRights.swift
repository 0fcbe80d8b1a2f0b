import Redis

/// The rights that a user of Redis needs, by role. `Config/redis.acl.example` has the same rights in Redis' format.
public enum AccessRole: String, CaseIterable, Sendable {
  case worker, admin, reader, producer

  /// The commands of the role, including those in scripts.
  var commands: [String] {
    switch self {
    case .worker: Self.split(Self.ofWorker)
    case .admin: Self.split(Self.ofAdmin)
    case .reader: Self.split(Self.ofReader)
    case .producer: Set(Self.ofProducer.flatMap { Self.split($0.commands) }).sorted()
    }
  }

  private static func split(_ words: String) -> [String] {
    words.split(whereSeparator: \.isWhitespace).map(String.init)
  }

  private static let ofWorker = """
    bitpos blmove del exists expire get getbit getrange hdel hget hgetall hincrby hlen hmget hscan hset hsetnx hvals incr
    incrby lindex llen lmove lpop lpos lpush lrange lrem lset ltrim mget persist pexpire pttl rename rpush rpushx sadd scard set
    setbit setrange sismember smembers smismember srem sscan strlen ttl type unlink xadd xdel xlen xrange xrevrange zadd
    zcard zcount zmscore zrange zrangebyscore zrem zremrangebyscore zrevrange zscore
    """
  private static let ofAdmin = """
    del exists expire get getbit getrange hdel hget hgetall hincrby hlen hmget hscan hset hsetnx hvals incr incrby lindex
    llen lpos lpush lrange lrem lset ltrim persist pttl rpush rpushx sadd scard set setrange sismember smembers smismember srem
    sscan strlen type unlink xadd xdel xlen xrange xrevrange zadd zcard zcount zmscore zrange zrangebyscore zrem zrevrange
    zscan zscore
    """
  private static let ofReader = """
    exists get getbit getrange hget hgetall hlen hmget hscan hvals lindex llen lrange pttl scard sismember smembers
    smismember sscan strlen type xlen xrange xrevrange zcard zcount zrange zrangebyscore zrevrange zscore
    """
  /// Commands, each with the keys for which the producer may use it; `*` is an id or a name.
  static let ofProducer: [(commands: String, keys: [String])] = [
    ("lpush lpos", ["campaigns"]), ("lpush", ["registrations", "receipts"]), ("get set strlen ttl expire", ["job:*"]),
    ("hlen hget hmget", ["campaign:*"]), ("exists", ["campaign:*", "job:*"]), ("hmget", ["store"]),
    ("smembers sismember", ["segments"]), ("smembers", ["templates"]), ("hgetall", ["definitions"]),
    ("hget", ["template:*"]),
  ]

  /// Returns the commands that the role must be allowed to run, each as a text with arguments.
  func questions(_ keys: Keyspace) -> [String] {
    guard self != .producer else {
      let questions = Self.ofProducer.flatMap { right in
        Self.split(right.commands).flatMap { command in
          right.keys.map { Self.words(command, key: keys.home + $0.replacing("*", with: "x")) }
        }
      }
      return questions + ["script load x", "evalsha x 1 \(keys.campaigns)", "time", "info", "wait 1 1"]
    }
    // Test each command with a control key (without a partition) and with a slice key, because Redis grants rights to
    // keys by name.
    let both = [keys.store, keys.home(of: 0)]
    var questions = commands.flatMap { command in both.map { Self.words(command, key: $0) } }
    questions += ["script load x", "evalsha x 1 \(keys.store)", "time", "info"]
    if self == .worker { questions += ["subscribe \(keys.wake)", "pubsub numsub \(keys.wake)", "client id"] }
    if self != .reader { questions.append("publish \(keys.wake) x") }
    return questions
  }

  private static func words(_ command: String, key: String) -> String {
    switch command {
    case "blmove": "blmove \(key) \(key) left right 0"
    case "lmove": "lmove \(key) \(key) left right"
    case "rename": "rename \(key) \(key)"
    case "xadd": "xadd \(key) * x x"
    case "mget", "exists", "del", "unlink", "get", "incr", "llen", "type", "ttl", "pttl", "strlen", "scard", "smembers",
      "hgetall", "hlen", "hvals", "xlen", "zcard", "lpop", "persist":
      "\(command) \(key)"
    default: "\(command) \(key) 0 0"
    }
  }
}

extension Fleet {
  /// Returns the commands of a role that the Redis user may not run, each as a text with arguments.
  ///
  /// - Returns: `nil` if Redis does not support the check. Redis 7 and later support it.
  public func missingRights(of role: AccessRole) async throws -> [String]? {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.rights, keys: [role == .producer ? keys.campaigns : keys.store]) { arguments in
      for question in role.questions(keys) { arguments.append(question) }
    }
    let reply = try await run(pipeline)[0]
    return reply.kind == .array ? reply.compactMap(\.string) : nil
  }
}
