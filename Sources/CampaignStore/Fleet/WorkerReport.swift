import PushCore

/// The report of a worker about itself, sent with its heartbeats. Commands and the dashboard display it; no decision
/// depends on it.
///
/// In Redis, the report of each worker is one JSON object. Unknown members are ignored, so that workers of two versions
/// can be displayed together.
public struct WorkerReport: Sendable, Equatable {
  /// The state of a worker's connections to one push service, with one credential.
  public struct Pool: Sendable, Equatable {
    /// Address of the service.
    public var endpoint: String
    /// Connections on which the service has accepted a push.
    public var open: Int
    /// Pushes sent without an answer yet.
    public var inFlight: Int
    /// Pushes that no connection has taken yet.
    public var backlog: Int
    /// Connections that could not be opened, or broke, since the worker's start.
    public var failures: Int
    /// State of the pool: a raw value of ``Health``, or a value that only a later version knows.
    public var health: String

    /// Creates the state of a pool.
    public init(endpoint: String, open: Int, inFlight: Int, backlog: Int, failures: Int, health: Health) {
      self.endpoint = endpoint
      self.open = open
      self.inFlight = inFlight
      self.backlog = backlog
      self.failures = failures
      self.health = health.rawValue
    }

    /// The known values of ``health``.
    public enum Health: String, Sendable, CaseIterable {
      case ready, connecting, unreachable, unresponsive, breakerOpen, credentialStopped
    }

    /// Whether the pool can send almost no push.
    public var isStuck: Bool {
      switch Health(rawValue: health) {
      case .unreachable, .unresponsive, .breakerOpen, .credentialStopped: true
      case .ready, .connecting, nil: false
      }
    }
  }

  /// The state of a credential for a push service.
  public struct Credential: Sendable, Equatable {
    /// The apps that use the credential, in order.
    public var apps: [String]
    /// Why nothing is sent with the credential, and what to fix; `nil` while it is used.
    public var stopped: String?
    /// Why the credential can't be renewed, and what to fix; `nil` for no problem. Pushes are still sent.
    public var renewalProblem: String?
    /// When the credential expires, in ms since the epoch; `nil` for never.
    public var expiresAt: Int?
    /// Seconds by which the clock that the worker uses for the credential is ahead of the service's clock; `nil` if no
    /// difference is known.
    public var clockError: Int?

    /// Creates the state of a credential.
    public init(
      apps: [String], stopped: String? = nil, renewalProblem: String? = nil, expiresAt: Int? = nil,
      clockError: Int? = nil
    ) {
      self.apps = apps
      self.stopped = stopped
      self.renewalProblem = renewalProblem
      self.expiresAt = expiresAt
      self.clockError = clockError
    }
  }

  /// Version of the worker's program.
  public var version = ""
  /// When the worker started, in ms since the epoch by Redis' clock.
  public var startedAt = 0
  /// The transport: `native` or `curl`.
  public var engine = ""
  /// Largest number of targets that the worker may have in doubt.
  public var window = 0
  /// The part of ``window`` that is granted to slices.
  public var windowUsed = 0
  /// Number of slices that the worker holds.
  public var slices = 0
  /// Outcomes and retries per second that the worker has recorded since its previous heartbeat.
  public var perSecond = 0
  /// Pushes that were accepted since the worker's start.
  public var accepted = 0
  /// Number of changes in events that had no effect since the worker's start, because a newer change of the same data
  /// exists.
  public var superseded = 0
  /// Whether the worker takes no slices, because it is about to stop or waits for the end of a repartition.
  public var takesNothing = false
  /// The worker's connections, by push service and credential.
  public var pools: [Pool] = []
  /// The worker's credentials.
  public var credentials: [Credential] = []

  /// Creates the report of a worker that has done nothing yet.
  public init() {}

  /// Largest number of pools, of credentials, and of apps of a credential in a report.
  public static let most = 32
  /// Largest stored size of a text in bytes. A longer text is cut.
  private static let longestText = 300

  /// The stored JSON.
  var json: [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("version", version)
    json.member("startedAt", startedAt)
    json.member("engine", engine)
    json.member("window", window)
    json.member("windowUsed", windowUsed)
    json.member("slices", slices)
    json.member("perSecond", perSecond)
    json.member("accepted", accepted)
    if superseded > 0 { json.member("superseded", superseded) }
    if takesNothing { json.member("takesNothing", true) }
    json.objects("pools", pools.prefix(Self.most)) { json, pool in
      json.member("endpoint", Self.short(pool.endpoint))
      json.member("open", pool.open)
      json.member("inFlight", pool.inFlight)
      json.member("backlog", pool.backlog)
      json.member("failures", pool.failures)
      json.member("health", pool.health)
    }
    json.objects("credentials", credentials.prefix(Self.most)) { json, credential in
      json.array("apps", credential.apps.prefix(Self.most))
      if let stopped = credential.stopped { json.member("stopped", Self.short(stopped)) }
      if let problem = credential.renewalProblem { json.member("renewalProblem", Self.short(problem)) }
      if let expiresAt = credential.expiresAt { json.member("expiresAt", expiresAt) }
      if let clockError = credential.clockError { json.member("clockError", clockError) }
    }
    json.endObject()
    return json.take()
  }

  private static func short(_ text: String) -> String {
    text.utf8.count <= longestText ? text : String(decoding: text.utf8.prefix(longestText), as: UTF8.self)
  }

  /// Reads a report.
  /// - Parameter json: the stored JSON.
  /// - Returns: `nil` if it is not a JSON object.
  init?(json: [UInt8]) {
    guard let value = try? JSONValue(parsing: json, maximumDepth: 8), case .object(let members) = value.kind else {
      return nil
    }
    version = members.text("version")
    startedAt = members.number("startedAt")
    engine = members.text("engine")
    window = members.number("window")
    windowUsed = members.number("windowUsed")
    slices = members.number("slices")
    perSecond = members.number("perSecond")
    accepted = members.number("accepted")
    superseded = members.number("superseded")
    if case .bool(true)? = members.value("takesNothing")?.kind { takesNothing = true }
    pools = members.objects("pools").map { pool in
      var read = Pool(
        endpoint: pool.text("endpoint"), open: pool.number("open"), inFlight: pool.number("inFlight"),
        backlog: pool.number("backlog"), failures: pool.number("failures"), health: .ready)
      read.health = pool.text("health")
      return read
    }
    credentials = members.objects("credentials").map { credential in
      Credential(
        apps: credential.texts("apps"), stopped: credential.value("stopped").map { _ in credential.text("stopped") },
        renewalProblem: credential.value("renewalProblem").map { _ in credential.text("renewalProblem") },
        expiresAt: credential.value("expiresAt").map { _ in credential.number("expiresAt") },
        clockError: credential.value("clockError").map { _ in credential.number("clockError") })
    }
  }
}

extension [JSONValue.Member] {
  /// Returns the text of a member; empty if it has none.
  fileprivate func text(_ name: String) -> String {
    if case .string(let text)? = value(name)?.kind { text } else { "" }
  }

  /// Returns the whole number of a member; 0 if it has none.
  fileprivate func number(_ name: String) -> Int {
    if case .number(let digits)? = value(name)?.kind { Int(digits) ?? 0 } else { 0 }
  }

  fileprivate func elements(_ name: String) -> [JSONValue] {
    if case .array(let elements)? = value(name)?.kind {
      Array<JSONValue>(elements.prefix(WorkerReport.most))
    } else {
      []
    }
  }

  fileprivate func objects(_ name: String) -> [[JSONValue.Member]] {
    elements(name).compactMap { if case .object(let members) = $0.kind { members } else { nil } }
  }

  fileprivate func texts(_ name: String) -> [String] {
    elements(name).compactMap { if case .string(let text) = $0.kind { text } else { nil } }
  }
}
