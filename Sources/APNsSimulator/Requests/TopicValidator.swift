/// Checks the topic of a connection's requests. It caches the last result, because nearly every request repeats its
/// topic.
struct TopicValidator {
  typealias Verdict = (reason: Reason?, id: DeviceRegistry.TopicID)

  /// Maximum length of a topic in bytes: the maximum length of a DNS name. Apple publishes no limit.
  private static let longestTopic = 255

  private let verifier: ProviderTokenVerifier
  private let registry: DeviceRegistry
  private var lastTopic: [UInt8] = []
  private var lastType: PushType?
  private var lastSender: ConnectionAuthentication.Sender?
  private var lastVersion = 0
  private var last: Verdict = (nil, DeviceRegistry.anyTopic)

  init(verifier: ProviderTokenVerifier, registry: DeviceRegistry) {
    self.verifier = verifier
    self.registry = registry
  }

  /// Checks the topic of a request, and finds its number.
  ///
  /// - Parameters:
  ///   - topic: the value of `apns-topic`; `nil` without the field.
  ///   - type: the value of `apns-push-type`; `nil` without the field.
  mutating func validate(
    _ topic: UnsafeRawBufferPointer?, type: PushType?, from sender: ConnectionAuthentication.Sender,
    certificate: PushCertificate?, by rules: Rules
  ) -> Verdict {
    guard let topic else {
      // If the certificate has a single topic, this topic applies to a request without the field.
      guard let certificate, certificate.topics == nil else { return (.missingTopic, DeviceRegistry.anyTopic) }
      return (nil, registry.topicID(certificate.topic))
    }
    if lastVersion == rules.version, lastType == type, lastSender == sender, topic.matches(lastTopic) { return last }
    (lastTopic, lastType, lastSender, lastVersion) = (Array(topic), type, sender, rules.version)
    let reason = examine(lastTopic, type: type, from: sender, certificate: certificate, by: rules.knobs)
    last = (reason, reason == nil ? registry.topicID(lastTopic) : DeviceRegistry.anyTopic)
    return last
  }

  private func examine(
    _ topic: [UInt8], type: PushType?, from sender: ConnectionAuthentication.Sender,
    certificate: PushCertificate?, by knobs: SimulatorKnobs
  ) -> Reason? {
    guard (1...Self.longestTopic).contains(topic.count), topic.allSatisfy(Self.isLegal) else { return .badTopic }
    switch sender {
    case .certificate:
      guard certificate?.allows(topic) ?? false else { return .topicDisallowed }
    case .key(let number):
      if let allowed = verifier.keys[number].topics, !allowed.contains(topic) {
        guard allowed.contains(PushType.bundle(of: topic)) else { return .topicDisallowed }
      }
    }
    guard let type, !type.fits(topic) else { return nil }
    switch knobs.mismatchedTopic {
    case .accept: return nil
    case .badTopic: return .badTopic
    case .topicDisallowed: return .topicDisallowed
    }
  }

  /// Returns whether the byte is a letter, digit, hyphen or period, the characters of bundle identifiers.
  private static func isLegal(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E: true
    default: false
    }
  }
}
