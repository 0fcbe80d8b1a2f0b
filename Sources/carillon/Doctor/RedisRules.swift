import CampaignStore
import Redis

/// Findings from the state of Redis. Pure.
enum RedisRules {
  /// Limits of a round trip in µs. Within a data centre a round trip takes less than one ms. Each write for a slice
  /// takes one round trip, and the slice waits for that time.
  static let slow = 10_000
  static let tooSlow = 100_000
  /// Limits of the difference between the clocks of Redis and of this machine, in ms. Workers use the clock of Redis,
  /// so a small difference only makes times in logs misleading. With a large difference, provider tokens can be too old
  /// for APNs. APNs accepts tokens for one hour, and tokens are up to 35 minutes old.
  static let clockApart = 2000
  static let clockWrong = 300_000
  /// Maximum number of users for which a partition is designed, see `deploy/operations/sizing.md`.
  static let crowded = 20_000

  /// Returns the findings from a server's INFO.
  static func findings(_ node: FleetNode) -> [DoctorFinding] {
    let (info, name) = (node.info, node.endpoint)
    var findings: [DoctorFinding] = []
    switch info.version {
    case let version? where version < RedisVersion(major: 6, minor: 2):
      findings.append(
        .problem(.redis, name, "Redis \(version) is too old", hint: "upgrade to 6.2 or newer; 7 is recommended"))
    case let version? where version < RedisVersion(major: 7):
      findings.append(
        .advice(
          .redis, name, "Redis \(version)",
          hint:
            "upgrade to 7: it checks that scripts declare their keys, and campaigns can finish even if Redis is full"))
    case let version?: findings.append(.healthy(.redis, name, "Redis \(version)"))
    case nil:
      findings.append(.advice(.redis, name, "does not report its version", hint: "make sure that it is 6.2 or newer"))
    }
    if info.role == .replica {
      findings.append(
        .problem(.redis, name, "is a replica and refuses writes", hint: "set redis.url to the primary"))
    }
    if let policy = info.evictionPolicy, policy != "noeviction" {
      findings.append(
        .problem(
          .redis, name, "evicts devices and ledgers when memory is full: maxmemory-policy is \(policy)",
          hint: "run CONFIG SET maxmemory-policy noeviction, and set the same in redis.conf"))
    }
    findings += persistence(info, name) + memory(node)
    return findings
  }

  private static func persistence(_ info: RedisServerInfo, _ name: String) -> [DoctorFinding] {
    if !info.isPersistenceHealthy {
      return [
        .problem(
          .redis, name, "can't save its data and refuses writes", hint: "check its log; usually the disk is full")
      ]
    }
    guard info.isAppendOnlyEnabled else {
      return [
        .advice(
          .redis, name, "has no append-only file: a restart loses all writes since the last snapshot",
          hint: "run CONFIG SET appendonly yes, and set the same in redis.conf")
      ]
    }
    return [.healthy(.redis, name, "has an append-only file")]
  }

  private static func memory(_ node: FleetNode) -> [DoctorFinding] {
    let used = (node.memory.used + (1 << 19)) >> 20
    guard let percent = node.percentUsed else {
      return [
        .advice(
          .redis, node.endpoint, "uses \(used) MiB without a limit: if memory runs out, the kernel kills it",
          hint: "set maxmemory: Carillon then refuses new campaigns before memory runs out")
      ]
    }
    let text = "uses \(percent) % of its memory, \(used) MiB"
    return [
      percent >= FleetLimits().memory
        ? .problem(
          .redis, node.endpoint, text,
          hint: "raise maxmemory, or wait until ended campaigns expire: above 90 % no new campaign starts")
        : .healthy(.redis, node.endpoint, text)
    ]
  }

  /// Returns the findings about a server's round-trip time and clock.
  static func findings(_ latency: ServerLatency) -> [DoctorFinding] {
    let milliseconds = "\(latency.median / 1000).\(latency.median % 1000 / 100) ms"
    var findings: [DoctorFinding] = []
    switch latency.median {
    case ..<slow: findings.append(.healthy(.redis, latency.endpoint, "answers within \(milliseconds)"))
    case ..<tooSlow:
      findings.append(
        .advice(
          .redis, latency.endpoint, "takes \(milliseconds) to answer",
          hint: "run workers and Redis closer to each other, or raise worker.window"))
    default:
      findings.append(
        .problem(
          .redis, latency.endpoint, "takes \(milliseconds) to answer, so workers would wait for Redis most of the time",
          hint: "run workers and Redis closer to each other; SLOWLOG GET shows slow commands of other clients"))
    }
    let apart = abs(latency.clockAhead)
    let text =
      "its clock is \(FleetSnapshot.age(apart)) \(latency.clockAhead > 0 ? "ahead of" : "behind") this machine's"
    if apart >= clockWrong {
      findings.append(
        .problem(
          .redis, latency.endpoint, text,
          hint:
            "synchronise both by NTP: schedules and provider tokens use the clock of Redis, and APNs refuses tokens with a wrong time"
        ))
    } else if apart >= clockApart {
      findings.append(
        .advice(.redis, latency.endpoint, text, hint: "synchronise both by NTP: schedules use the clock of Redis"))
    }
    return findings
  }

  /// Returns the findings about cluster slots whose migration or import has not ended.
  ///
  /// - Parameter slots: `nil` if the Redis user lacks the permission to ask.
  static func findings(openSlots slots: [Int]?) -> [DoctorFinding] {
    guard let slots else {
      return [
        .advice(
          .redis, "", "the Redis user lacks the permission to check for open slots (CLUSTER NODES)",
          hint: "check them as an administrator: redis-cli --cluster check HOST:PORT")
      ]
    }
    guard let first = slots.first else { return [.healthy(.redis, "", "no slot of the cluster is open")] }
    return [
      .problem(
        .redis, "",
        "\(slots.count) slots of the cluster are open, for example \(first): their partitions can't be used",
        hint: "wait if a migration is running; otherwise run redis-cli --cluster fix HOST:PORT")
    ]
  }

  /// Returns the findings about missing permissions of the Redis user.
  ///
  /// - Parameter missing: `nil` if Redis can't report permissions.
  static func findings(missing: [String]?, of role: AccessRole) -> [DoctorFinding] {
    guard let missing else {
      return [
        .advice(
          .redis, "", "Redis before 7 can't report the permissions of a user",
          hint: "compare the user with deploy/operations/redis.md; ACL LOG on the server shows refused commands")
      ]
    }
    guard !missing.isEmpty else {
      return [.healthy(.redis, "", "the Redis user has all permissions of the role \(role.rawValue)")]
    }
    let shown = missing.prefix(5).joined(separator: "; ")
    return [
      .problem(
        .redis, "",
        "the Redis user lacks permissions of the role \(role.rawValue): \(shown)"
          + (missing.count > 5 ? " and \(missing.count - 5) more" : ""),
        hint: "grant the permissions of carillon-\(role.rawValue) in Config/redis.acl.example, or use another --role")
    ]
  }

  /// Returns the finding about the size of partitions.
  static func findings(usersOfPartition users: Int, partitions: Int) -> [DoctorFinding] {
    guard users > crowded else { return [] }
    return [
      .advice(
        .keys, "", "a partition has about \(users) users; the design limit is \(crowded)",
        hint: "run carillon store repartition \(min(16_384, max(partitions * 2, partitions * users / crowded * 2)))")
    ]
  }
}
