import PushCore
public import Redis

/// Why the store could not do what was asked.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  /// What kind of failure it was.
  public enum Code: String, Sendable {
    /// The store was initialised with another number of partitions, or by another version.
    case mismatch
    /// The store is being given another number of partitions, and waits until that is done.
    case held
    /// The server can't be trusted with campaigns: too old, set to evict, or a node of a cluster that was taken for a
    /// single server.
    case unfit
    /// The Redis user may not do it, or Redis wants to know who asks.
    case forbidden
    /// The server takes no writes: a replica, out of memory, or failing to persist.
    case readOnly
    /// The server has too little memory left for another campaign.
    case full
    /// What was asked for doesn't exist.
    case notFound
    /// A campaign needs approval first, or this person may not give it, or it needs none.
    case unapproved
    /// The id is another job's.
    case conflict
    /// What was to be decided is, or nobody waits for it any more.
    case decided
    /// What was given can't be right.
    case invalid
    /// What stands in Redis can't be right: a key of another type, or a value that nothing of ours has written.
    case damaged
    /// Redis refused a command in a way that none of the above explains.
    case refused
  }

  /// What kind of failure it was.
  public var code: Code
  /// What is wrong, and where.
  public var message: String
  /// What to do next.
  public var hint: String
  /// What is damaged, with ``Code/damaged``.
  public internal(set) var damage: Damage?

  /// Memberwise.
  public init(_ code: Code, _ message: String, hint: String) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// What makes a job invalid.
  init(invalid error: JobError) { self.init(.invalid, error.reason, hint: error.hint ?? "") }

  /// That of a slice whose targets and ledger another version has written.
  init(unreadable slice: SliceReference, version: Int?) {
    self.init(
      .mismatch, "slice \(slice) has targets and a ledger of version \(version ?? 0), not \(TargetPage.formatVersion)",
      hint: "run the version of Carillon that sealed it until its campaign has ended")
  }

  /// That of a store that waits for its new partitions.
  static func held(for partitions: Int) -> StoreError {
    StoreError(
      .held,
      "the store is being given \(partitions) partitions: no campaign begins, and devices and segments stay as they are",
      hint: "wait until it is done; if nobody is at it any more, run carillon store repartition \(partitions)")
  }

  /// What a refusal by the server means for its user.
  public init(_ error: RedisServerError) {
    switch error.code {
    case .readOnly:
      self.init(
        .readOnly, "this Redis is a read-only replica",
        hint: "point redis.url at the primary")
    case .primaryDown:
      self.init(
        .readOnly, "this Redis is a replica that has lost its primary, and answers nothing",
        hint: "point redis.url at the primary, or wait until there is one")
    case .outOfMemory:
      self.init(
        .readOnly, "Redis is out of memory and refuses writes",
        hint: "raise maxmemory, or let results and old campaigns expire")
    case .misconfigured:
      self.init(
        .readOnly, "Redis fails to persist and refuses writes",
        hint: "look at its log; usually the disk is full")
    case .loading:
      self.init(
        .readOnly, "Redis is loading its data", hint: "try again when it has; its log says how far it is")
    case .noReplicas:
      self.init(
        .readOnly, "Redis has too few replicas and refuses writes",
        hint: "see min-replicas-to-write and the state of the replicas: INFO replication")
    case .busy:
      self.init(
        .readOnly, "a script has kept Redis busy for too long",
        hint: "try again; if it stays so, find out whose script it is and stop it: SCRIPT KILL")
    case .noPermission:
      self.init(
        .forbidden, "the Redis user lacks a right: \(error.message)",
        hint: "ACL LOG on the server names it; deploy/redis-acl.md has the rights of each role")
    case .noAuthentication, .wrongPassword:
      self.init(
        .forbidden, "Redis refused the login: \(error)",
        hint: "check redis.user and redis.passwordFile, or user and password in redis.url")
    case .moved, .ask:
      self.init(
        .unfit, "this Redis is a node of a cluster, and the key is at another: \(error)",
        hint: "write cluster://HOST,HOST in redis.url")
    case .tryAgain:
      self.init(
        .readOnly, "a slot of the Redis cluster is on its way to another node: \(error.message)",
        hint: "try again when it has arrived; CLUSTER NODES shows slots that have been left open")
    case .clusterDown:
      self.init(
        .readOnly, "nobody serves a slot of the Redis cluster: \(error.message)",
        hint: "try again when a replica has taken over; CLUSTER INFO and CLUSTER NODES say what is missing")
    default:
      self.init(.refused, "Redis refused: \(error)", hint: "see the log of Redis")
    }
  }

  public var description: String { "\(message); \(hint)" }
}

extension StoreError {
  /// A token is of a push service that the program doesn't know.
  static func unknownService(_ name: String) -> StoreError {
    StoreError(
      .mismatch, "a token is of the push service \(Excerpt.quoted(name)), which this program doesn't know",
      hint: "run the version of Carillon that registered it")
  }
}
