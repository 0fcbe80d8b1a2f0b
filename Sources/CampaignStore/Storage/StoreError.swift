import PushCore
public import Redis

/// The reason why an operation of the store failed.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public enum Code: String, Sendable {
    /// The store was initialised with another number of partitions, or by another version.
    case mismatch
    /// The store is being repartitioned; the operation must wait.
    case locked = "held"
    /// The server is not safe for campaigns: too old, configured to evict keys, or a cluster node that is used as a
    /// single server.
    case unfit
    /// The Redis user lacks the right, or Redis requires a login.
    case forbidden
    /// The server accepts no writes: a replica, out of memory, or failing to persist.
    case readOnly
    /// The server has too little memory for another campaign.
    case full
    /// The requested object does not exist.
    case notFound
    /// A campaign needs approval first, this person may not approve it, or it needs no approval.
    case unapproved
    /// Another job has this id.
    case conflict
    /// The decision was made already, or is no longer needed.
    case decided
    /// The given value is invalid.
    case invalid
    /// Data in Redis is damaged: a key has another type, or a value that Carillon did not write.
    case damaged
    /// Redis refused a command for another reason.
    case refused
  }

  /// The kind of failure.
  public var code: Code
  /// The problem and its place.
  public var message: String
  /// The next step for the person who reads the error.
  public var hint: String
  /// The damaged part of the store, for the code ``Code/damaged``.
  public internal(set) var damage: Damage?

  /// Creates an error.
  public init(_ code: Code, _ message: String, hint: String) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// Creates the error for an invalid job.
  init(invalid error: JobError) { self.init(.invalid, error.reason, hint: error.hint ?? "") }

  /// Creates the error for a slice whose targets and ledger have the format of another version.
  init(unreadable slice: SliceReference, version: Int?) {
    self.init(
      .mismatch, "slice \(slice) has targets and a ledger of version \(version ?? 0), not \(TargetPage.formatVersion)",
      hint: "use the version of Carillon that sealed it until its campaign has ended")
  }

  /// Returns the error of a store that is being repartitioned.
  static func locked(for partitions: Int) -> StoreError {
    StoreError(
      .locked,
      "the store is being repartitioned to \(partitions) partitions: no campaign starts, and devices and segments can't change",
      hint: "wait for its end; if the command was interrupted, run carillon store repartition \(partitions)")
  }

  /// Creates the error for a refusal by the server.
  public init(_ error: RedisServerError) {
    switch error.code {
    case .readOnly:
      self.init(
        .readOnly, "this Redis is a read-only replica",
        hint: "set redis.url to the primary")
    case .primaryDown:
      self.init(
        .readOnly, "this Redis is a replica without a connection to its primary and refuses commands",
        hint: "set redis.url to the primary, or wait for a new primary")
    case .outOfMemory:
      self.init(
        .readOnly, "Redis is out of memory and refuses writes",
        hint: "raise maxmemory, or wait until ended campaigns expire (ttl)")
    case .misconfigured:
      self.init(
        .readOnly, "Redis can't save its data and refuses writes",
        hint: "check its log; usually the disk is full")
    case .loading:
      self.init(
        .readOnly, "Redis is loading its data", hint: "try again when Redis has loaded them; its log shows the progress"
      )
    case .noReplicas:
      self.init(
        .readOnly, "Redis has too few replicas and refuses writes",
        hint: "check min-replicas-to-write and the replicas: INFO replication")
    case .busy:
      self.init(
        .readOnly, "a script blocks Redis for too long",
        hint: "try again; if the error remains, find the script's client and stop the script: SCRIPT KILL")
    case .noPermission:
      self.init(
        .forbidden, "the Redis user lacks a permission: \(error.message)",
        hint:
          "ACL LOG on the server shows the refused command; deploy/operations/redis.md lists the permissions of roles")
    case .noAuthentication, .wrongPassword:
      self.init(
        .forbidden, "Redis refused the login: \(error)",
        hint: "check redis.user and redis.passwordFile, or user and password in redis.url")
    case .moved, .ask:
      self.init(
        .unfit, "this Redis is a node of a cluster, and the key is on another node: \(error)",
        hint: "use cluster://HOST,HOST in redis.url")
    case .tryAgain:
      self.init(
        .readOnly, "a slot of the Redis cluster is being migrated: \(error.message)",
        hint: "try again after the migration; CLUSTER NODES shows open slots")
    case .clusterDown:
      self.init(
        .readOnly, "no node serves a slot of the Redis cluster: \(error.message)",
        hint: "try again after the failover to a replica; CLUSTER INFO and CLUSTER NODES show the missing nodes")
    default:
      self.init(.refused, "Redis refused: \(error)", hint: "check the log of Redis")
    }
  }

  public var description: String { "\(message); \(hint)" }
}

extension StoreError {
  /// Returns the error for a token of a push service that the program does not know.
  static func unknownService(_ name: String) -> StoreError {
    StoreError(
      .mismatch, "a token has the unknown push service \(Excerpt.quoted(name))",
      hint: "use the version of Carillon that registered the token")
  }
}
