public import TLS

/// What a push certificate allows, as Apple writes it into its certificates.
///
/// Sources: Apple, "Establishing a certificate-based connection to APNs" (topics in extension .6); node-apn (.1 and .2);
/// NWPusher (kinds by common name).
public struct PushCertificate: Sendable, Equatable {
  /// Which of Apple's servers take it.
  public enum Environment: String, Sendable, Equatable {
    case sandbox, production
  }

  /// The topics it may push to. The first is the app's own; empty when the certificate tells none.
  public let topics: [String]
  /// The environments it names; empty when it names none, as certificates for Wallet and for MDM do.
  public let environments: Set<Environment>
  /// What it is called: `Apple Push Services: com.example.news`.
  public let name: String
  /// When it begins and ceases to be valid, in UNIX seconds.
  public let validity: ClosedRange<Int64>

  private static let arc = "1.2.840.113635.100.6.3."

  /// Reads it from what the certificate says of itself.
  public init(_ facts: CertificateFacts) {
    // `SEQUENCE { UTF8String topic, SEQUENCE { UTF8String kind, … }, … }`: the sequences between the names say of which
    // kind they are; their suffixes say the same.
    let listed = facts.extensions[Self.arc + "6"].flatMap(ASN1.texts(inSequence:)) ?? []
    topics = (facts.userID.map { [$0] } ?? []) + listed.filter { $0 != facts.userID }
    name = facts.commonName ?? "without a name"
    var environments: Set<Environment> = []
    if facts.extensions[Self.arc + "1"] != nil { environments.insert(.sandbox) }
    if facts.extensions[Self.arc + "2"] != nil { environments.insert(.production) }
    // Certificates from before the extensions say it in their name only.
    if environments.isEmpty {
      if name.hasPrefix("Apple Development ") { environments = [.sandbox] }
      if name.hasPrefix("Apple Production ") { environments = [.production] }
    }
    self.environments = environments
    validity = facts.validity
  }

  /// Whether pushes to the topic may go with it, as far as it tells: all of an app's topics begin with the app's own.
  public func covers(bundle: String) -> Bool {
    topics.isEmpty || topics.contains { $0 == bundle || $0.hasPrefix(bundle + ".") }
  }

  /// Whether it may be used in the environment, as far as it tells.
  public func covers(_ environment: Environment) -> Bool { environments.isEmpty || environments.contains(environment) }
}
