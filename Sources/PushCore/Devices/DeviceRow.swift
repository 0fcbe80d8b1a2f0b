/// One device of one user, as files of devices hold it. What a file doesn't give is `nil`.
public struct DeviceRow: Sendable, Equatable {
  /// The id of the user, by the rules of ``UserID``.
  public var user: String
  /// The device token.
  public var token: DeviceToken
  /// The name of the push service that the token is of.
  public var service: String
  /// What the token is for.
  public var kind: TokenKind
  /// The Live Activity that a token of that kind updates, by the app's own name for it.
  public var activity: String?
  /// The app of the configuration that the token belongs to.
  public var app: String?
  /// Which of APNs' two environments issued the token.
  public var environment: PushEnvironment?
  /// A language tag such as `en` or `zh-Hans-CN`.
  public var locale: String?
  /// A time zone as ``ZoneName`` writes it.
  public var timezone: String?
  /// The version of the app on the device.
  public var appVersion: String?
  /// The version of its system.
  public var osVersion: String?
  /// When the app registered the token, in milliseconds since 1970. An answer that the token is gone prunes only what
  /// registered before it.
  public var registeredAt: Int?
  /// When the app was last seen on the device, in milliseconds since 1970.
  public var lastSeen: Int?
  /// The user's own attributes.
  public var attributes: [String: String]
  /// The reason why a detail of the device was refused; `nil` where nothing was. The device is kept without the detail.
  public var refusal: String?

  /// Memberwise; ``DeviceRowDraft`` validates.
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

/// One of APNs' two environments. Raw values are names in configurations, files and Redis.
public enum PushEnvironment: String, CaseIterable, Sendable {
  case production, sandbox
}

/// The columns of a device file that have a meaning of their own; any other is an attribute of the user.
public enum DeviceColumn: String, CaseIterable, Sendable {
  case user, token, service, kind, activity, app, environment, locale, timezone, appVersion, osVersion, registeredAt
  case lastSeen
}
