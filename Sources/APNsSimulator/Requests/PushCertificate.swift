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
    let listed = certificate.extensions[Self.topicList].map(Self.topics)
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

  /// The strings of `SEQUENCE { UTF8String topic, SEQUENCE { kinds }, … }`; the kinds are for people.
  private static func topics(_ value: [UInt8]) -> [String] {
    guard var list = DER.Reader(value[...]).first(DER.sequence).map(DER.Reader.init) else { return [] }
    var found: [String] = []
    while let item = list.next() {
      if item.tag == DER.utf8String { found.append(String(decoding: item.content, as: UTF8.self)) }
    }
    return found
  }
}

/// As much of ASN.1's distinguished encoding (X.690) as a list of strings takes.
enum DER {
  static let null: [UInt8] = [0x05, 0x00]
  static let utf8String: UInt8 = 0x0C
  static let sequence: UInt8 = 0x30

  /// Tag, length and content.
  static func encode(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let count = content.count
    let length: [UInt8]
    switch count {
    case ..<0x80: length = [UInt8(count)]
    case ..<0x100: length = [0x81, UInt8(count)]
    default: length = [0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
    }
    return [tag] + length + content
  }

  /// Walks over values that lie one behind the other.
  struct Reader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// The content of the next value, when it has that tag.
    func first(_ tag: UInt8) -> ArraySlice<UInt8>? {
      var copy = self
      return copy.next().flatMap { $0.tag == tag ? $0.content : nil }
    }

    /// The next value; `nil` at the end, and where the bytes are no such thing.
    mutating func next() -> (tag: UInt8, content: ArraySlice<UInt8>)? {
      guard let tag = rest.popFirst(), let first = rest.popFirst() else { return nil }
      var count = Int(first)
      if first >= 0x80 {
        let digits = Int(first & 0x7F)
        guard (1...2).contains(digits), rest.count >= digits else { return nil }
        count = rest.prefix(digits).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(digits)
      }
      guard rest.count >= count else { return nil }
      let content = rest.prefix(count)
      rest = rest.dropFirst(count)
      return (tag, content)
    }
  }
}
