internal import TLS

/// What a push certificate allows, by its subject and Apple's extensions (reference 3.2, 3.3).
struct PushCertificate: Equatable {
  // Below 1.2.840.113635.100.6.3, Apple's arc for push.
  static let sandbox = "1.2.840.113635.100.6.3.1"
  static let production = "1.2.840.113635.100.6.3.2"
  static let topicList = "1.2.840.113635.100.6.3.6"

  /// `UID` of the subject: what requests are for that name no topic.
  var topic: [UInt8]
  /// The topics it lists, or `nil` for one that has a single topic.
  var topics: Set<[UInt8]>?
  /// Where it may be used; one that says nothing of the kind may be used everywhere.
  var environments: Set<SimulatorEnvironment>

  /// - Returns: `nil` when the certificate names no topic at all.
  init?(_ certificate: PeerCertificate) {
    // `SEQUENCE { UTF8String topic, SEQUENCE { kinds }, … }`; the kinds are for people.
    let listed = certificate.extensions[Self.topicList].map { ASN1.texts(inSequence: $0) ?? [] }
    guard let topic = certificate.userID ?? listed?.first else { return nil }
    self.topic = Array(topic.utf8)
    topics = listed.map { Set($0.map { Array($0.utf8) }) }
    environments = []
    if certificate.extensions[Self.sandbox] != nil { environments.insert(.sandbox) }
    if certificate.extensions[Self.production] != nil { environments.insert(.production) }
    if environments.isEmpty { environments = Set(SimulatorEnvironment.allCases) }
  }

  /// Whether pushes to `topic` are its business.
  func allows(_ topic: [UInt8]) -> Bool { topics?.contains(topic) ?? (topic == self.topic) }
}
