import CampaignStore
import Redis

/// What follows from what is known of Redis. Pure.
enum RedisRules {
  /// Round trips in µs: within a machine room they take less than one ms. A commit costs one, so slices wait that long
  /// for their credit.
  static let slow = 10_000
  static let tooSlow = 100_000
  /// ms between Redis' clock and this machine's: workers go by Redis', so it only misleads people, until provider tokens
  /// get too old for APNs (an hour; they are up to 35 minutes old).
  static let clockApart = 2000
  static let clockWrong = 300_000
  /// Users of a partition for which it is made, see `deploy/operations/sizing.md`.
  static let crowded = 20_000

  /// What a server says of itself.
  static func findings(_ node: FleetNode) -> [DoctorFinding] {
    let (info, name) = (node.info, node.endpoint)
    var findings: [DoctorFinding] = []
    switch info.version {
    case let version? where version < RedisVersion(major: 6, minor: 2):
      findings.append(
        .problem(.redis, name, "Redis \(version) is too old", cure: "upgrade to 6.2 at least; 7 is recommended"))
    case let version? where version < RedisVersion(major: 7):
      findings.append(
        .advice(
          .redis, name, "Redis \(version)",
          cure: "7 checks that scripts declare their keys, and finishes campaigns also when it is full"))
    case let version?: findings.append(.well(.redis, name, "Redis \(version)"))
    case nil: findings.append(.advice(.redis, name, "does not tell its version", cure: "make sure it is 6.2 or newer"))
    }
    if info.role == .replica {
      findings.append(
        .problem(.redis, name, "is a replica, and takes no writes", cure: "point redis.url at the primary"))
    }
    if let policy = info.evictionPolicy, policy != "noeviction" {
      findings.append(
        .problem(
          .redis, name, "throws away devices and ledgers when it is full: maxmemory-policy is \(policy)",
          cure: "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf"))
    }
    findings += persistence(info, name) + memory(node)
    return findings
  }

  private static func persistence(_ info: RedisServerInfo, _ name: String) -> [DoctorFinding] {
    if !info.isPersistenceHealthy {
      return [
        .problem(
          .redis, name, "fails to persist, and refuses writes", cure: "look at its log; usually the disk is full")
      ]
    }
    guard info.isAppendOnlyEnabled else {
      return [
        .advice(
          .redis, name, "keeps no append-only file: a restart loses everything since the last snapshot",
          cure: "CONFIG SET appendonly yes, and the same in redis.conf")
      ]
    }
    return [.well(.redis, name, "keeps an append-only file")]
  }

  private static func memory(_ node: FleetNode) -> [DoctorFinding] {
    let used = (node.memory.used + (1 << 19)) >> 20
    guard let percent = node.percentUsed else {
      return [
        .advice(
          .redis, node.endpoint, "uses \(used) MiB and has no limit: when memory is gone, the kernel ends it",
          cure: "set maxmemory: then campaigns are refused in time, and nothing is lost")
      ]
    }
    let text = "uses \(percent) % of its memory, \(used) MiB"
    return [
      percent >= FleetLimits().memory
        ? .problem(
          .redis, node.endpoint, text,
          cure: "raise maxmemory, or wait until ended campaigns expire: above 90 % no campaign is taken in")
        : .well(.redis, node.endpoint, text)
    ]
  }

  /// How fast a server answers, and its clock.
  static func findings(_ pace: NodePace) -> [DoctorFinding] {
    let milliseconds = "\(pace.median / 1000).\(pace.median % 1000 / 100) ms"
    var findings: [DoctorFinding] = []
    switch pace.median {
    case ..<slow: findings.append(.well(.redis, pace.endpoint, "answers within \(milliseconds)"))
    case ..<tooSlow:
      findings.append(
        .advice(
          .redis, pace.endpoint, "takes \(milliseconds) to answer",
          cure: "bring workers and Redis nearer to each other, or raise worker.window"))
    default:
      findings.append(
        .problem(
          .redis, pace.endpoint, "takes \(milliseconds) to answer: workers would wait most of the time",
          cure: "bring workers and Redis nearer to each other; SLOWLOG GET says whether somebody else keeps it busy"))
    }
    let apart = abs(pace.clockAhead)
    let text = "its clock is \(FleetSnapshot.age(apart)) \(pace.clockAhead > 0 ? "ahead of" : "behind") this machine's"
    if apart >= clockWrong {
      findings.append(
        .problem(
          .redis, pace.endpoint, text,
          cure:
            "set both by NTP: schedules and provider tokens go by Redis' clock, and APNs refuses tokens of another time"
        ))
    } else if apart >= clockApart {
      findings.append(.advice(.redis, pace.endpoint, text, cure: "set both by NTP: schedules go by Redis' clock"))
    }
    return findings
  }

  /// Slots that were left open.
  ///
  /// - Parameter slots: `nil` where the user may not ask.
  static func findings(openSlots slots: [Int]?) -> [DoctorFinding] {
    guard let slots else {
      return [
        .advice(
          .redis, "", "this user may not ask which slots are open (CLUSTER NODES)",
          cure: "ask as operator: redis-cli --cluster check HOST:PORT")
      ]
    }
    guard let first = slots.first else { return [.well(.redis, "", "no slot of the cluster is left open")] }
    return [
      .problem(
        .redis, "", "\(slots.count) slots of the cluster are left open, \(first) among them: their partitions wait",
        cure: "wait if they are being moved now; else redis-cli --cluster fix HOST:PORT")
    ]
  }

  /// What the Redis user may not do.
  ///
  /// - Parameter missing: `nil` where Redis can't be asked.
  static func findings(missing: [String]?, of role: AccessRole) -> [DoctorFinding] {
    guard let missing else {
      return [
        .advice(
          .redis, "", "Redis before 7 does not say what a user may do",
          cure: "deploy/operations/redis.md has the rights of each role; ACL LOG on the server names what was refused")
      ]
    }
    guard !missing.isEmpty else { return [.well(.redis, "", "the user may do all that a \(role.rawValue) does")] }
    let shown = missing.prefix(5).joined(separator: "; ")
    return [
      .problem(
        .redis, "",
        "the user may not do what a \(role.rawValue) does: \(shown)"
          + (missing.count > 5 ? " and \(missing.count - 5) more" : ""),
        cure: "give it the rights of carillon-\(role.rawValue) in Config/redis.acl.example, or say --role")
    ]
  }

  /// How full partitions are.
  static func findings(usersOfPartition users: Int, partitions: Int) -> [DoctorFinding] {
    guard users > crowded else { return [] }
    return [
      .advice(
        .keys, "", "a partition has about \(users) users: made is it for \(crowded)",
        cure: "carillon store repartition \(min(16_384, max(partitions * 2, partitions * users / crowded * 2)))")
    ]
  }
}
