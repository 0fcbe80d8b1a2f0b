internal import PushCore

/// Section of the configuration with its values by key. The functions parse and check the values.
public struct ConfigurationSection: Sendable {
  /// Path of the section: `apps.news`.
  public let path: String
  /// Place where the section was written; `nil` if it is missing.
  public let origin: String?
  private let children: [String: ConfigurationNode]

  /// - Parameters:
  ///   - node: the value of the section; `nil` for an empty section.
  ///   - path: the path of the section; empty for the whole configuration.
  ///   - known: the allowed keys; `nil` allows any key.
  /// - Throws: an error for a value that is not a section, and for an unknown key.
  public init(_ node: ConfigurationNode?, path: String, keys known: [String]?) throws(ConfigurationError) {
    self.path = path
    origin = node?.origin
    switch node?.content {
    case nil, .scalar(""): children = [:]
    case .section(let content)?: children = content
    case .scalar?, .list?:
      throw ConfigurationError(
        key: path, message: "must be a section with keys", origin: node?.origin, hint: "indent its keys below it")
    }
    if let known { try check(keys: known) }
  }

  /// Checks that the section has only these keys.
  public func check(keys known: [String]) throws(ConfigurationError) {
    for (key, value) in children.sorted(by: { $0.key < $1.key }) where !known.contains(key) {
      throw ConfigurationError(
        key: Self.join(path, key), message: "unknown key", origin: value.origin,
        hint: Nearest.hint(key, among: known))
    }
  }

  /// Keys of the section, in alphabetical order.
  public var keys: [String] { children.keys.sorted() }

  /// Returns a section inside this section; an empty section if the key is missing.
  ///
  /// - Parameter known: the allowed keys; `nil` allows any key.
  public func section(_ key: String, keys known: [String]?) throws(ConfigurationError) -> ConfigurationSection {
    try ConfigurationSection(children[key], path: Self.join(path, key), keys: known)
  }

  /// Returns the sections of a list; an empty array if the key is missing.
  ///
  /// - Parameter known: the allowed keys of each section.
  public func sections(_ key: String, keys known: [String]) throws(ConfigurationError) -> [ConfigurationSection] {
    switch children[key]?.content {
    case nil, .scalar("")?: return []
    case .list(let elements)?:
      var sections: [ConfigurationSection] = []
      for (number, element) in elements.enumerated() {
        sections.append(
          try ConfigurationSection(element, path: Self.join(path, "\(key)[\(number)]"), keys: known))
      }
      return sections
    case .section?, .scalar?: throw error(key, "must be a list", hint: "begin each entry with a dash: - most: 3")
    }
  }

  /// Returns whether a key has a value.
  public func has(_ key: String) -> Bool { children[key].map { $0.content != .scalar("") } ?? false }

  /// Returns an error for a key, with the place where the key was written.
  public func error(_ key: String, _ message: String, hint: String? = nil) -> ConfigurationError {
    ConfigurationError(
      key: Self.join(path, key), message: message, origin: children[key]?.origin ?? origin, hint: hint)
  }

  /// Returns a single value; `nil` if the key is missing.
  public func string(_ key: String) throws(ConfigurationError) -> String? {
    switch children[key]?.content {
    case nil, .scalar("")?: return nil
    case .scalar(let text)?: return text
    case .section?, .list?: throw error(key, "must be a single value")
    }
  }

  /// Returns a single value. Throws an error if the key is missing.
  public func required(_ key: String, hint: String) throws(ConfigurationError) -> String {
    guard let text = try string(key) else { throw error(key, "is missing", hint: hint) }
    return text
  }

  /// Returns whether a key is `true`. A missing key counts as `false`.
  public func boolean(_ key: String) throws(ConfigurationError) -> Bool {
    switch try string(key) {
    case nil, "false": return false
    case "true": return true
    case let text?: throw error(key, "\(Excerpt.quoted(text)) is neither true nor false")
    }
  }

  /// Returns a whole number in a range.
  ///
  /// - Parameter value: the number for a missing key.
  public func integer(_ key: String, in range: ClosedRange<Int>, default value: Int) throws(ConfigurationError) -> Int {
    try integer(key, in: range) ?? value
  }

  /// Returns a whole number in a range; `nil` if the key is missing.
  public func integer(_ key: String, in range: ClosedRange<Int>) throws(ConfigurationError) -> Int? {
    guard let text = try string(key) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw error(
        key, "\(Excerpt.quoted(text)) is not a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Returns a share: a number above 0 and at most 1.
  ///
  /// - Parameter orNone: whether the number may also be 0.
  public func share(_ key: String, orNone: Bool = false, default value: Double) throws(ConfigurationError) -> Double {
    guard let text = try string(key) else { return value }
    guard let number = Double(text), number > 0 || orNone && number == 0, number <= 1 else {
      let range = orNone ? "from 0 to 1" : "above 0 and at most 1"
      throw error(key, "\(Excerpt.quoted(text)) is not a share \(range)", hint: "0.1 is a tenth")
    }
    return number
  }

  /// Returns a duration.
  ///
  /// - Parameters:
  ///   - range: the allowed durations, in milliseconds.
  ///   - value: the duration for a missing key, in milliseconds.
  public func duration(
    _ key: String, in range: ClosedRange<Int>, default value: Int
  ) throws(ConfigurationError) -> Duration {
    guard let text = try string(key) else { return .milliseconds(value) }
    guard let milliseconds = DurationText.milliseconds(text) else {
      throw error(
        key, "\(Excerpt.quoted(text)) is not a duration", hint: "it must be \(DurationText.formWithMilliseconds)")
    }
    guard range.contains(milliseconds) else {
      let (least, most) = (DurationText.format(milliseconds: range.lowerBound), range.upperBound)
      throw error(
        key, "\(Excerpt.quoted(text)) is not from \(least) to \(DurationText.format(milliseconds: most))")
    }
    return .milliseconds(milliseconds)
  }

  /// Returns the case of an enum whose raw value is the value of the key.
  ///
  /// - Parameter value: the value for a missing key.
  public func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ key: String, default value: Choice
  ) throws(ConfigurationError) -> Choice {
    let text = try choice(key, among: Choice.allCases.map(\.rawValue), default: value.rawValue)
    return Choice(rawValue: text) ?? value
  }

  /// Returns the value of a key that must be one of `known`.
  ///
  /// - Parameter value: the value for a missing key.
  public func choice(
    _ key: String, among known: [String], default value: String
  ) throws(ConfigurationError) -> String {
    guard let text = try string(key) else { return value }
    guard known.contains(text) else {
      let nearest = Nearest.match(text, among: known).map { "did you mean '\($0)'? " } ?? ""
      throw error(
        key, "unknown value \(Excerpt.quoted(text))", hint: nearest + "known: " + known.joined(separator: ", "))
    }
    return text
  }

  /// Returns the address of a server; `nil` if the key is missing.
  ///
  /// - Parameter hint: the hint of the error for an invalid address.
  public func endpoint(_ key: String, hint: String) throws(ConfigurationError) -> EndpointAddress? {
    guard let text = try string(key) else { return nil }
    guard let endpoint = EndpointAddress(url: text) else {
      throw error(key, "\(Excerpt.quoted(text)) is not https://HOST or https://HOST:PORT", hint: hint)
    }
    return endpoint
  }

  private static func join(_ path: String, _ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }
}
