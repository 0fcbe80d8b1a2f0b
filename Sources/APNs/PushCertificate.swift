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
    let listed = facts.extensions[Self.arc + "6"].flatMap(Self.topics(der:)) ?? []
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

  /// The topics of extension .6: `SEQUENCE { UTF8String topic, SEQUENCE { UTF8String kind, … }, … }`.
  ///
  /// - Returns: `nil` when it is something else.
  static func topics(der: [UInt8]) -> [String]? {
    var outer = DERReader(der[...])
    guard let list = outer.next(), list.tag == DERReader.sequence, outer.isAtEnd else { return nil }
    var reader = DERReader(list.value)
    var topics: [String] = []
    while !reader.isAtEnd {
      guard let element = reader.next() else { return nil }
      // The sequences between the names say of which kind they are; their suffixes say the same.
      if element.tag == DERReader.utf8String { topics.append(String(decoding: element.value, as: UTF8.self)) }
    }
    return topics
  }
}

/// Walks over the elements of a DER encoding (X.690), at one level.
private struct DERReader {
  static let utf8String: UInt8 = 0x0c
  static let sequence: UInt8 = 0x30

  private var bytes: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  var isAtEnd: Bool { bytes.isEmpty }

  /// The next element; `nil` at the end, and where the encoding is broken.
  mutating func next() -> (tag: UInt8, value: ArraySlice<UInt8>)? {
    guard let tag = bytes.popFirst(), let first = bytes.popFirst() else { return nil }
    var length = Int(first)
    if first >= 0x80 {
      // X.690 section 8.1.3.5: so many bytes of length follow; an extension has some kB.
      let count = Int(first & 0x7f)
      guard (1...3).contains(count), bytes.count >= count else { return nil }
      length = bytes.prefix(count).reduce(0) { $0 << 8 | Int($1) }
      bytes = bytes.dropFirst(count)
    }
    guard bytes.count >= length else { return nil }
    defer { bytes = bytes.dropFirst(length) }
    return (tag, bytes.prefix(length))
  }
}
