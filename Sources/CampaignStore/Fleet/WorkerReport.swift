import PushCore

/// What a worker says of itself with its heartbeats, for whoever looks at the fleet. Nothing else depends on it.
///
/// In Redis it is one JSON object a worker. Members that a version doesn't know are passed over, so that workers of two
/// versions can be looked at together.
public struct WorkerReport: Sendable, Equatable {
  /// How its connections to one push service are, with one credential.
  public struct Pool: Sendable, Equatable {
    /// Where the service is.
    public var endpoint: String
    /// Connections on which the service has accepted a push.
    public var open: Int
    /// Pushes sent without an answer yet.
    public var inFlight: Int
    /// Pushes that no connection has taken yet.
    public var backlog: Int
    /// Connections that could not be opened, or broke, since the worker's start.
    public var failures: Int
    /// What it can do: a word of ``Health``, or one of a later version.
    public var health: String

    /// Memberwise.
    public init(endpoint: String, open: Int, inFlight: Int, backlog: Int, failures: Int, health: Health) {
      self.endpoint = endpoint
      self.open = open
      self.inFlight = inFlight
      self.backlog = backlog
      self.failures = failures
      self.health = health.rawValue
    }

    /// The words for ``health``.
    public enum Health: String, Sendable, CaseIterable {
      case ready, connecting, unreachable, unresponsive, breakerOpen, credentialStopped
    }

    /// Whether it can send next to nothing.
    public var isStuck: Bool {
      switch Health(rawValue: health) {
      case .unreachable, .unresponsive, .breakerOpen, .credentialStopped: true
      case .ready, .connecting, nil: false
      }
    }
  }

  /// What it is let in for by a push service.
  public struct Credential: Sendable, Equatable {
    /// The apps that use it, in order.
    public var apps: [String]
    /// Why nothing is sent with it, and what to mend; `nil` while it is used.
    public var stopped: String?
    /// When it ceases to be valid, in ms since the epoch; `nil` for never.
    public var expiresAt: Int?

    /// Memberwise.
    public init(apps: [String], stopped: String? = nil, expiresAt: Int? = nil) {
      self.apps = apps
      self.stopped = stopped
      self.expiresAt = expiresAt
    }
  }

  /// The version of its program.
  public var version = ""
  /// When it started, in ms since the epoch by Redis' clock.
  public var startedAt = 0
  /// What it sends with: `native` or `curl`.
  public var engine = ""
  /// Targets that it may have in doubt.
  public var window = 0
  /// How many of them it has lent to slices.
  public var lent = 0
  /// Slices in hand.
  public var slices = 0
  /// Outcomes and retries that it recorded a second, since its heartbeat before.
  public var perSecond = 0
  /// Pushes that were accepted since its start.
  public var accepted = 0
  /// What events said since its start and changed nothing, because something newer stands.
  public var superseded = 0
  /// Whether it is about to stop, or waits for a store that is given other partitions.
  public var takesNothing = false
  /// Its connections, by push service and credential.
  public var pools: [Pool] = []
  /// What it is let in for.
  public var credentials: [Credential] = []

  /// Of a worker that has done nothing yet.
  public init() {}

  /// Pools, credentials and apps of a credential that are told of: more is a configuration that no report can show.
  public static let most = 32
  /// Bytes of a text of others that are told.
  private static let longestText = 300

  /// As it stands in Redis.
  var json: [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("version", version)
    json.member("startedAt", startedAt)
    json.member("engine", engine)
    json.member("window", window)
    json.member("lent", lent)
    json.member("slices", slices)
    json.member("perSecond", perSecond)
    json.member("accepted", accepted)
    if superseded > 0 { json.member("superseded", superseded) }
    if takesNothing { json.member("takesNothing", true) }
    json.name("pools")
    json.beginArray()
    for pool in pools.prefix(Self.most) {
      json.beginObject()
      json.member("endpoint", Self.short(pool.endpoint))
      json.member("open", pool.open)
      json.member("inFlight", pool.inFlight)
      json.member("backlog", pool.backlog)
      json.member("failures", pool.failures)
      json.member("health", pool.health)
      json.endObject()
    }
    json.endArray()
    json.name("credentials")
    json.beginArray()
    for credential in credentials.prefix(Self.most) {
      json.beginObject()
      json.name("apps")
      json.beginArray()
      for app in credential.apps.prefix(Self.most) { json.value(app) }
      json.endArray()
      if let stopped = credential.stopped { json.member("stopped", Self.short(stopped)) }
      if let expiresAt = credential.expiresAt { json.member("expiresAt", expiresAt) }
      json.endObject()
    }
    json.endArray()
    json.endObject()
    return json.take()
  }

  private static func short(_ text: String) -> String {
    text.utf8.count <= longestText ? text : String(decoding: text.utf8.prefix(longestText), as: UTF8.self)
  }

  /// - Parameter json: as ``json`` gives it.
  /// - Returns: `nil` for what is no JSON object.
  init?(json: [UInt8]) {
    guard let value = try? JSONValue(parsing: json, maximumDepth: 8), case .object(let members) = value.kind else {
      return nil
    }
    version = members.text("version")
    startedAt = members.number("startedAt")
    engine = members.text("engine")
    window = members.number("window")
    lent = members.number("lent")
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
        expiresAt: credential.value("expiresAt").map { _ in credential.number("expiresAt") })
    }
  }
}

extension [JSONValue.Member] {
  /// The text of a member; nothing where it has none.
  fileprivate func text(_ name: String) -> String {
    if case .string(let text)? = value(name)?.kind { text } else { "" }
  }

  /// The whole number of a member; 0 where it has none.
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
