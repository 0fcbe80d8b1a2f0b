/// Device on which a condition is tested. The functions return bytes without copying them, so the bytes are valid only
/// during the test.
public protocol PredicateSubject {
  /// Returns the bytes of a text; empty if it is unknown.
  func bytes(of field: DevicePredicate.TextField) -> UnsafeRawBufferPointer
  /// Returns the bytes of a version; empty if it is unknown.
  func bytes(of field: DevicePredicate.VersionField) -> UnsafeRawBufferPointer
  /// Returns a time in milliseconds since the epoch; 0 if it is unknown.
  func time(of field: DevicePredicate.TimeField) -> UInt64
}

/// Values of the user's attributes that a condition tests. The index of an attribute is its position in
/// ``DevicePredicate/attributes``. An attribute that is an array has several values.
public struct PredicateAttributes: Sendable {
  private var values: [[[UInt8]]] = []

  /// - Parameters:
  ///   - json: the user's attributes as a JSON object. Any other value counts as no attributes.
  ///   - names: names of the attributes that the condition tests (``DevicePredicate/attributes``).
  public init(_ json: [UInt8], of names: [String]) {
    values = names.map { _ in [] }
    guard !json.isEmpty, let root = try? JSONValue(parsing: json, maximumDepth: CampaignJob.maximumNesting),
      case .object(let members) = root.kind
    else { return }
    for (place, name) in names.enumerated() {
      guard let value = members.value(name) else { continue }
      if case .array(let elements) = value.kind {
        values[place] = elements.compactMap(Self.scalar)
      } else if let scalar = Self.scalar(value) {
        values[place] = [scalar]
      }
    }
  }

  subscript(place: Int) -> [[UInt8]] { place < values.count ? values[place] : [] }

  private static func scalar(_ value: JSONValue) -> [UInt8]? {
    switch value.kind {
    case .string(let text), .number(let text): Array(text.utf8)
    case .bool(let bool): Array(bool ? "true".utf8 : "false".utf8)
    case .null, .array, .object: nil
    }
  }
}

extension DevicePredicate {
  /// Returns whether the condition is true.
  ///
  /// - Parameters:
  ///   - device: the device.
  ///   - user: the user's values of ``attributes``.
  ///   - now: reference time for ages, in ms since the epoch.
  public func matches(_ device: some PredicateSubject, user: PredicateAttributes, now: Int) -> Bool {
    Self.matches(root, of: device, user, now)
  }

  private static func matches(
    _ node: Node, of device: some PredicateSubject, _ user: PredicateAttributes, _ now: Int
  ) -> Bool {
    switch node {
    case .not(let node): !matches(node, of: device, user, now)
    case .and(let left, let right): matches(left, of: device, user, now) && matches(right, of: device, user, now)
    case .or(let left, let right): matches(left, of: device, user, now) || matches(right, of: device, user, now)
    case .test(.text(.locale), let test): matches(test, ofLocale: device.bytes(of: .locale))
    case .test(.text(let field), let test): matches(test, ofText: device.bytes(of: field))
    case .test(.version(let field), let test): matches(test, ofVersion: device.bytes(of: field))
    case .test(.time(let field), let test): matches(test, ofTime: device.time(of: field), now)
    case .test(.attribute(let place), let test):
      user[place].contains { value in matches(test, ofAttribute: value, now) }
    }
  }

  private static func matches(_ test: Test, ofText bytes: UnsafeRawBufferPointer) -> Bool {
    guard !bytes.isEmpty else { return false }
    switch test {
    case .exists: return true
    case .prefix(let prefix): return bytes.starts(with: prefix)
    case .compare(let comparison, let literal): return isSame(bytes, literal) == (comparison == .equal)
    case .isOneOf(let literals): return literals.contains { isSame(bytes, $0) }
    }
  }

  private static func isSame(_ bytes: UnsafeRawBufferPointer, _ literal: Literal) -> Bool {
    guard case .text(let text) = literal else { return false }
    if bytes.elementsEqual(text) { return true }
    // A device record from an older version of Carillon may contain a zone offset in another notation, as the phone
    // reported it.
    guard let offset = ZoneOffset.seconds(text) else { return false }
    return ZoneOffset.seconds(bytes) == offset
  }

  private static func matches(_ test: Test, ofLocale bytes: UnsafeRawBufferPointer) -> Bool {
    guard !bytes.isEmpty else { return false }
    switch test {
    case .exists: return true
    case .prefix(let prefix):
      return bytes.count >= prefix.count && zip(bytes, prefix).allSatisfy { lower($0) == lower($1) }
    case .compare(let comparison, .language(let range)):
      return LanguageTag(bytes).map { $0.isIn(range) == (comparison == .equal) } ?? false
    case .compare: return false
    case .isOneOf(let literals):
      guard let tag = LanguageTag(bytes) else { return false }
      return literals.contains { if case .language(let range) = $0 { tag.isIn(range) } else { false } }
    }
  }

  /// Returns the byte of a tag in lower case, with `-` in place of `_`, which some systems write between the subtags.
  /// Tags contain only ASCII.
  private static func lower(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
    case UInt8(ascii: "_"): UInt8(ascii: "-")
    default: byte
    }
  }

  private static func matches(_ test: Test, ofVersion bytes: UnsafeRawBufferPointer) -> Bool {
    guard !bytes.isEmpty else { return false }
    switch test {
    case .exists: return true
    case .prefix(let prefix): return bytes.starts(with: prefix)
    case .compare(let comparison, .version(let wanted)):
      return Version(bytes).map { comparison.matches($0.order(against: wanted)) } ?? false
    case .isOneOf(let literals):
      guard let version = Version(bytes) else { return false }
      return literals.contains { $0 == .version(version) }
    case .compare: return false
    }
  }

  private static func matches(_ test: Test, ofTime time: UInt64, _ now: Int) -> Bool {
    guard time > 0 else { return false }
    return switch test {
    case .exists: true
    case .compare(let comparison, let literal): order(ofTime: Int(time), literal, now).map(comparison.matches) ?? false
    case .isOneOf, .prefix: false
    }
  }

  /// Compares a time with a literal. If the literal is an age, the ages are compared, so an earlier time is greater.
  private static func order(ofTime time: Int, _ literal: Literal, _ now: Int) -> Int? {
    switch literal {
    case .age(let age): (now - time - age).signum()
    case .instant(let instant): (time - instant).signum()
    default: nil
    }
  }

  private static func matches(_ test: Test, ofAttribute value: [UInt8], _ now: Int) -> Bool {
    switch test {
    case .exists: true
    case .prefix(let prefix): value.starts(with: prefix)
    case .isOneOf(let literals): literals.contains { matches(.equal, $0, ofAttribute: value, now) }
    case .compare(let comparison, let literal): matches(comparison, literal, ofAttribute: value, now)
    }
  }

  private static func matches(
    _ comparison: Comparison, _ literal: Literal, ofAttribute value: [UInt8], _ now: Int
  ) -> Bool {
    switch literal {
    case .text(let text): return (value == text) == (comparison == .equal)
    case .bool(let bool):
      guard let known = Bool(String(decoding: value, as: UTF8.self)) else { return false }
      return (known == bool) == (comparison == .equal)
    case .number(let number):
      guard let known = Double(String(decoding: value, as: UTF8.self)), !known.isNaN else { return false }
      return comparison.matches(known < number ? -1 : known > number ? 1 : 0)
    case .age, .instant:
      let text = String(decoding: value, as: UTF8.self)
      let time = Timestamp.milliseconds(text) ?? Timestamp.milliseconds(text + "T00:00:00Z") ?? Int(text)
      return time.flatMap { order(ofTime: $0, literal, now) }.map(comparison.matches) ?? false
    case .version, .language: return false
    }
  }
}
