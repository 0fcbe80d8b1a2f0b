public import TLS

/// The permissions that Apple writes into a push certificate: topics, environments and validity.
///
/// Sources: Apple, "Establishing a certificate-based connection to APNs", for the topics in the extension whose id ends
/// with `.6`; node-apn for the environments in the extensions `.1` and `.2`; NWPusher for the kinds of certificates by
/// common name.
public struct PushCertificate: Sendable, Equatable {
  /// Apple's environments.
  public enum Environment: String, Sendable, Equatable {
    case sandbox, production
  }

  /// Allowed topics. The first is the app's own topic. Empty if the certificate contains none.
  public let topics: [String]
  /// Environments that the certificate names; empty if it names none, for example in a certificate for Wallet or MDM.
  public let environments: Set<Environment>
  /// Common name: `Apple Push Services: com.example.news`.
  public let name: String
  /// Validity in UNIX seconds.
  public let validity: ClosedRange<Int64>

  private static let arc = "1.2.840.113635.100.6.3."

  /// Reads the permissions from the facts of a certificate.
  public init(_ facts: CertificateFacts) {
    // `SEQUENCE { UTF8String topic, SEQUENCE { UTF8String kind, … }, … }`: the sequence after a topic contains the
    // kinds of pushes. The suffixes of the topics contain the same information, so the kinds are not read.
    let listed = facts.extensions[Self.arc + "6"].flatMap(ASN1.texts(inSequence:)) ?? []
    topics = (facts.userID.map { [$0] } ?? []) + listed.filter { $0 != facts.userID }
    name = facts.commonName ?? "without a name"
    var environments: Set<Environment> = []
    if facts.extensions[Self.arc + "1"] != nil { environments.insert(.sandbox) }
    if facts.extensions[Self.arc + "2"] != nil { environments.insert(.production) }
    // Certificates that are older than the extensions have the environment only in their name.
    if environments.isEmpty {
      if name.hasPrefix("Apple Development ") { environments = [.sandbox] }
      if name.hasPrefix("Apple Production ") { environments = [.production] }
    }
    self.environments = environments
    validity = facts.validity
  }

  /// Returns whether the certificate allows pushes for the bundle id, as far as its topics are known. All topics of an
  /// app begin with its bundle id.
  public func covers(bundle: String) -> Bool {
    topics.isEmpty || topics.contains { $0 == bundle || $0.hasPrefix(bundle + ".") }
  }

  /// Returns whether the certificate is valid in the environment, as far as its environments are known.
  public func covers(_ environment: Environment) -> Bool { environments.isEmpty || environments.contains(environment) }
}
