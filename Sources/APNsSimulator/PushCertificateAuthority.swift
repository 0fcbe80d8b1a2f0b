public import TLS

/// An authority that issues push certificates like Apple's. A ``Simulator`` accepts these certificates if its
/// configuration contains ``authorityPEM``.
public struct PushCertificateAuthority: Sendable {
  /// The authority's certificate, for ``SimulatorConfiguration/clientAuthorityPEM``.
  public var authorityPEM: String { authority.authorityPEM }

  private let authority: ClientCertificateAuthority

  /// Creates a new authority with a fresh key.
  ///
  /// - Throws: a `TLSError` if OpenSSL can't create a key.
  public init() throws { authority = try ClientCertificateAuthority() }

  /// Issues a push certificate with its key.
  ///
  /// - Parameters:
  ///   - topic: the subject's `UID`, such as `com.example.news`.
  ///   - topics: topics in the certificate; `nil` creates a certificate with a single topic.
  ///   - environments: environments in which the certificate is valid.
  ///   - validity: start and end in seconds from now; both may be in the past.
  /// - Throws: a `TLSError` if OpenSSL can't create it.
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
