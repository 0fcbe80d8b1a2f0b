/// What is known of an app of the configuration when a push for it is judged.
public struct AppTraits: Sendable {
  /// What the app shows APNs.
  public enum Authentication: Sendable {
    /// A provider token.
    case token
    /// A certificate for these topics; empty when they are not known.
    case certificate(topics: Set<String>)
    /// A certificate that may be exchanged meanwhile.
    case client(ClientCertificate)
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

  /// The bundle id; push types add their suffix.
  public var topic: String
  /// What it shows APNs.
  public var authentication: Authentication
  /// Whether the topic is sent as it stands, because somebody gave it for one push; suffixes don't come by themselves then.
  public var isTopicExact: Bool

  /// Memberwise.
  public init(topic: String, authentication: Authentication = .token, isTopicExact: Bool = false) {
    self.topic = topic
    self.authentication = authentication
    self.isTopicExact = isTopicExact
  }

  /// `apns-topic` of a push of this type.
  public func topic(for type: PushType) -> String { isTopicExact ? topic : type.topic(bundle: topic) }

  /// The topics of the certificate that it shows; `nil` when it shows none.
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
