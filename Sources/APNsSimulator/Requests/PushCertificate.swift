internal import TLS

/// The permissions of a push certificate, read from its subject and Apple's extensions.
struct PushCertificate: Equatable {
  // Object identifiers of Apple's certificate extensions for push, below 1.2.840.113635.100.6.3.
  static let sandbox = "1.2.840.113635.100.6.3.1"
  static let production = "1.2.840.113635.100.6.3.2"
  static let topicList = "1.2.840.113635.100.6.3.6"

  /// `UID` of the subject: the topic of requests without `apns-topic`.
  var topic: [UInt8]
  /// The listed topics; `nil` for a certificate with a single topic.
  var topics: Set<[UInt8]>?
  /// Environments in which the certificate is valid. A certificate that names no environment is valid in both.
  var environments: Set<SimulatorEnvironment>

  /// - Returns: `nil` if the certificate has no topic.
  init?(_ certificate: PeerCertificate) {
    // The extension contains `SEQUENCE { UTF8String topic, SEQUENCE { kinds }, … }`. The kinds are not needed.
    let listed = certificate.extensions[Self.topicList].map { ASN1.texts(inSequence: $0) ?? [] }
    guard let topic = certificate.userID ?? listed?.first else { return nil }
    self.topic = Array(topic.utf8)
    topics = listed.map { Set($0.map { Array($0.utf8) }) }
    environments = []
    if certificate.extensions[Self.sandbox] != nil { environments.insert(.sandbox) }
    if certificate.extensions[Self.production] != nil { environments.insert(.production) }
    if environments.isEmpty { environments = Set(SimulatorEnvironment.allCases) }
  }

  /// Returns whether the certificate allows pushes to `topic`.
  func allows(_ topic: [UInt8]) -> Bool { topics?.contains(topic) ?? (topic == self.topic) }
}
