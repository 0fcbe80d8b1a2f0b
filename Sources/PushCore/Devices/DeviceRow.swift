/// One device of one user, as in a device file. Columns that the file does not contain are `nil`.
public struct DeviceRow: Sendable, Equatable {
  /// Id of the user, checked by ``UserID``.
  public var user: String
  /// Device token.
  public var token: DeviceToken
  /// Name of the push service of the token.
  public var service: String
  /// Kind of the token.
  public var kind: TokenKind
  /// The app's own name of the Live Activity that the token updates; only for tokens of the kind `liveactivity`.
  public var activity: String?
  /// App of the configuration to which the token belongs.
  public var app: String?
  /// APNs environment that issued the token.
  public var environment: PushEnvironment?
  /// Language tag such as `en` or `zh-Hans-CN`.
  public var locale: String?
  /// Time zone in the form of ``ZoneName``.
  public var timezone: String?
  /// Version of the app on the device.
  public var appVersion: String?
  /// Version of the device's operating system.
  public var osVersion: String?
  /// Time when the app registered the token, in milliseconds since 1970. When a push service reports that the token is
  /// gone, the device is pruned only if it was registered before the time in that report.
  public var registeredAt: Int?
  /// Time when the app was last seen on the device, in milliseconds since 1970.
  public var lastSeen: Int?
  /// Attributes of the user.
  public var attributes: [String: String]
  /// Reason why a detail of the device was refused; `nil` if all details were accepted. The device is stored without
  /// the refused detail.
  public var refusal: String?

  /// Creates an instance. ``DeviceRowDraft`` validates the values.
  public init(
    user: String, token: DeviceToken, service: String, kind: TokenKind = .alert, activity: String? = nil,
    app: String? = nil, environment: PushEnvironment? = nil, locale: String? = nil,
    timezone: String? = nil, appVersion: String? = nil, osVersion: String? = nil, registeredAt: Int? = nil,
    lastSeen: Int? = nil, attributes: [String: String] = [:], refusal: String? = nil
  ) {
    self.user = user
    self.token = token
    self.service = service
    self.kind = kind
    self.activity = activity
    self.app = app
    self.environment = environment
    self.locale = locale
    self.timezone = timezone
    self.appVersion = appVersion
    self.osVersion = osVersion
    self.registeredAt = registeredAt
    self.lastSeen = lastSeen
    self.attributes = attributes
    self.refusal = refusal
  }
}

/// APNs environment. Raw values are names in configurations, files and Redis.
public enum PushEnvironment: String, CaseIterable, Sendable {
  case production, sandbox
}

/// Columns of a device file with a fixed meaning. Any other column is an attribute of the user.
public enum DeviceColumn: String, CaseIterable, Sendable {
  case user, token, service, kind, activity, app, environment, locale, timezone, appVersion, osVersion, registeredAt
  case lastSeen
}
