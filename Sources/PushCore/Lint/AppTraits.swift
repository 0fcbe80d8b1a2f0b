/// What is known of an app of the configuration when a push for it is judged.
public struct AppTraits: Sendable {
  /// What the app shows APNs.
  public enum Authentication: Sendable, Equatable {
    /// A provider token.
    case token
    /// A certificate for these topics; empty when they are not known.
    case certificate(topics: Set<String>)
  }

  /// What a topic is, by its form.
  enum Kind {
    case app
    /// A pass in Wallet: `pass.…`.
    case pass
    /// A website in Safari 15 and before: `web.…`.
    case website
    /// A server for mobile device management: `com.apple.mgmt.…`.
    case management
  }

  /// What delivers its pushes.
  public var service: any PushService
  /// The bundle id; push types add their suffix.
  public var topic: String
  /// What it shows APNs.
  public var authentication: Authentication
  /// Whether the topic is sent as it stands, because somebody gave it for one push; suffixes don't come by themselves then.
  public var isTopicExact: Bool

  /// Memberwise.
  public init(
    topic: String, service: any PushService = AppTraits.standardService, authentication: Authentication = .token,
    isTopicExact: Bool = false
  ) {
    self.topic = topic
    self.service = service
    self.authentication = authentication
    self.isTopicExact = isTopicExact
  }

  /// The service of an app that names none.
  public static let standardService: any PushService = APNsTokens()

  /// `apns-topic` of a push of this type.
  public func topic(for type: PushType) -> String { isTopicExact ? topic : type.topic(bundle: topic) }

  var kind: Kind {
    if topic.hasPrefix("pass.") { return .pass }
    if topic.hasPrefix("web.") { return .website }
    return topic.hasPrefix("com.apple.mgmt.") ? .management : .app
  }
}
