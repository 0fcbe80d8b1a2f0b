public import TLS

/// Issues push certificates like Apple's, which a ``Simulator`` believes that was given ``authorityPEM``.
public struct PushCertificateAuthority: Sendable {
  /// What a simulator must believe, for ``SimulatorConfiguration/clientAuthorityPEM``.
  public var authorityPEM: String { authority.authorityPEM }

  private let authority: ClientCertificateAuthority

  /// A new authority with a fresh key.
  ///
  /// - Throws: a `TLSError` when OpenSSL can't make a key.
  public init() throws { authority = try ClientCertificateAuthority() }

  /// A push certificate with its key.
  ///
  /// - Parameters:
  ///   - topic: the subject's `UID`, such as `com.example.news`.
  ///   - topics: what the certificate lists; `nil` makes one of a single topic.
  ///   - environments: where it may be used.
  ///   - validity: seconds from now, when it begins and when it ends; both may lie in the past.
  /// - Throws: a `TLSError` when OpenSSL can't make it.
  public func issue(
    topic: String, topics: [String]? = nil,
    environments: Set<SimulatorEnvironment> = Set(SimulatorEnvironment.allCases),
    validity: Range<Int> = -86_400..<365 * 86_400
  ) throws -> TLSIdentity {
    var extensions: [(String, [UInt8])] = []
    if environments.contains(.sandbox) { extensions.append((PushCertificate.sandbox, ASN1.null)) }
    if environments.contains(.production) { extensions.append((PushCertificate.production, ASN1.null)) }
    if let topics {
      let list = topics.flatMap { [ASN1.Element.text($0), .sequence([.text(Self.kind(of: $0))])] }
      extensions.append((PushCertificate.topicList, try ASN1.der(sequence: list)))
    }
    return try authority.issue(
      commonName: "Apple Push Services: \(topic)", userID: topic, extensions: extensions, validity: validity)
  }

  private static func kind(of topic: String) -> String {
    if topic.hasSuffix(".voip") { return "voip" }
    return topic.hasSuffix(".complication") ? "complication" : "app"
  }
}
