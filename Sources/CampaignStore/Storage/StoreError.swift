import PushCore
public import Redis

/// The reason why an operation of the store failed.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public enum Code: String, Sendable {
    /// The store was initialised with another number of partitions, or by another version.
    case mismatch
    /// The store is being repartitioned; the operation must wait.
    case held
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
  /// The next step for the reader.
  public var hint: String
  /// The damaged data, with ``Code/damaged``.
  public internal(set) var damage: Damage?

  /// Creates an error.
  public init(_ code: Code, _ message: String, hint: String) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// Creates the error for an invalid job.
  init(invalid error: JobError) { self.init(.invalid, error.reason, hint: error.hint ?? "") }

  /// Creates the error for a slice whose targets and ledger have another version's format.
  init(unreadable slice: SliceReference, version: Int?) {
    self.init(
      .mismatch, "slice \(slice) has targets and a ledger of version \(version ?? 0), not \(TargetPage.formatVersion)",
      hint: "run the version of Carillon that sealed it until its campaign has ended")
  }

  /// Returns the error of a store that is being repartitioned.
  static func held(for partitions: Int) -> StoreError {
    StoreError(
      .held,
      "the store is being given \(partitions) partitions: no campaign begins, and devices and segments stay as they are",
      hint: "wait until it is done; if nobody is at it any more, run carillon store repartition \(partitions)")
  }

  /// Creates the error for a refusal by the server.
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
        hint: "ACL LOG on the server names it; deploy/operations/redis.md has the rights of each role")
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
  /// Returns the error for a token of a push service that the program does not know.
  static func unknownService(_ name: String) -> StoreError {
    StoreError(
      .mismatch, "a token is of the push service \(Excerpt.quoted(name)), which this program doesn't know",
      hint: "run the version of Carillon that registered it")
  }
}
