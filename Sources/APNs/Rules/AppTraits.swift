/// Facts about a configured app that the rules for APNs need.
public struct AppTraits: Sendable {
  /// Authentication of the app at APNs.
  public enum Authentication: Sendable {
    /// A provider token.
    case token
    /// A certificate for these topics; empty if they are not known.
    case certificate(topics: Set<String>)
    /// A certificate in use, which an operator may replace while the program runs.
    case client(ClientCertificate)
  }

  /// Kind of a topic, recognised by its prefix.
  enum Kind {
    case app
    /// A pass in Wallet: `pass.…`.
    case pass
    /// A website in Safari 15 and before: `web.…`.
    case website
    /// A server for mobile device management: `com.apple.mgmt.…`.
    case management
  }

  /// The bundle id. Push types add their suffix.
  public var topic: String
  /// Authentication at APNs.
  public var authentication: Authentication
  /// Whether the topic is sent unchanged, because it was given for a single push. In that case, push types add no
  /// suffix.
  public var isTopicExact: Bool

  /// Creates an instance with these values.
  public init(topic: String, authentication: Authentication = .token, isTopicExact: Bool = false) {
    self.topic = topic
    self.authentication = authentication
    self.isTopicExact = isTopicExact
  }

  /// Returns the `apns-topic` of a push of this type.
  public func topic(for type: PushType) -> String { isTopicExact ? topic : type.topic(bundle: topic) }

  /// Topics of the app's certificate; `nil` if it has no certificate.
  var certificateTopics: Set<String>? {
    switch authentication {
    case .token: nil
    case .certificate(let topics): topics
    case .client(let certificate): Set(certificate.certificate.topics)
    }
  }

  var kind: Kind {
    if topic.hasPrefix("pass.") { return .pass }
    if topic.hasPrefix("web.") { return .website }
    return topic.hasPrefix("com.apple.mgmt.") ? .management : .app
  }
}
