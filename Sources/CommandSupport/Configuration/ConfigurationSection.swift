import PushCore

/// One section of the configuration, its values read by key. Unknown keys are errors as soon as it is made.
struct ConfigurationSection {
  let path: String
  /// Where the section was written; `nil` when it is not there.
  let origin: String?
  private let children: [String: ConfigurationNode]

  /// - Parameters:
  ///   - node: `nil` is an empty section.
  ///   - schema: the section's name in ``ConfigurationSchema``, or `nil` when its keys are names of the user's own.
  init(_ node: ConfigurationNode?, path: String, schema: String?) throws(ConfigurationError) {
    self.path = path
    origin = node?.origin
    switch node?.content {
    case nil, .scalar(""): children = [:]
    case .section(let content)?: children = content
    case .scalar?, .list?:
      throw ConfigurationError(
        key: path, message: "must be a section with keys", origin: node?.origin, hint: "indent its keys below it")
    }
    guard let schema, let known = ConfigurationSchema.sections[schema] else { return }
    for (key, value) in children.sorted(by: { $0.key < $1.key }) where !known.contains(key) {
      throw ConfigurationError(
        key: Self.join(path, key), message: "unknown key", origin: value.origin,
        hint: Nearest.hint(key, among: known))
    }
  }

  /// The names of its keys, in order.
  var keys: [String] { children.keys.sorted() }

  func section(_ key: String, schema: String?) throws(ConfigurationError) -> ConfigurationSection {
    try ConfigurationSection(children[key], path: Self.join(path, key), schema: schema)
  }

  /// The sections of a list; none where it is not given.
  func sections(_ key: String, schema: String) throws(ConfigurationError) -> [ConfigurationSection] {
    switch children[key]?.content {
    case nil, .scalar("")?: return []
    case .list(let elements)?:
      var sections: [ConfigurationSection] = []
      for (number, element) in elements.enumerated() {
        sections.append(
          try ConfigurationSection(element, path: Self.join(path, "\(key)[\(number)]"), schema: schema))
      }
      return sections
    case .section?, .scalar?: throw error(key, "must be a list", hint: "begin each entry with a dash: - most: 3")
    }
  }

  func has(_ key: String) -> Bool { children[key].map { $0.content != .scalar("") } ?? false }

  func error(_ key: String, _ message: String, hint: String? = nil) -> ConfigurationError {
    ConfigurationError(
      key: Self.join(path, key), message: message, origin: children[key]?.origin ?? origin, hint: hint)
  }

  func string(_ key: String) throws(ConfigurationError) -> String? {
    switch children[key]?.content {
    case nil, .scalar("")?: return nil
    case .scalar(let text)?: return text
    case .section?, .list?: throw error(key, "must be a single value")
    }
  }

  func required(_ key: String, hint: String) throws(ConfigurationError) -> String {
    guard let text = try string(key) else { throw error(key, "is missing", hint: hint) }
    return text
  }

  /// Whether a key is `true`; it is not when it is left out.
  func boolean(_ key: String) throws(ConfigurationError) -> Bool {
    switch try string(key) {
    case nil, "false": return false
    case "true": return true
    case let text?: throw error(key, "\(Excerpt.quoted(text)) is neither true nor false")
    }
  }

  func integer(_ key: String, in range: ClosedRange<Int>, default value: Int) throws(ConfigurationError) -> Int {
    try integer(key, in: range) ?? value
  }

  /// - Returns: `nil` where it is not given.
  func integer(_ key: String, in range: ClosedRange<Int>) throws(ConfigurationError) -> Int? {
    guard let text = try string(key) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw error(
        key, "\(Excerpt.quoted(text)) is not a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A number above 0 and at most 1.
  ///
  /// - Parameter orNone: whether it may be 0.
  func share(_ key: String, orNone: Bool = false, default value: Double) throws(ConfigurationError) -> Double {
    guard let text = try string(key) else { return value }
    guard let number = Double(text), number > 0 || orNone && number == 0, number <= 1 else {
      let range = orNone ? "from 0 to 1" : "above 0 and at most 1"
      throw error(key, "\(Excerpt.quoted(text)) is not a share \(range)", hint: "0.1 is a tenth")
    }
    return number
  }

  /// - Parameters:
  ///   - range: in milliseconds.
  ///   - value: in milliseconds.
  func duration(
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

  func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ key: String, default value: Choice
  ) throws(ConfigurationError) -> Choice {
    guard let text = try string(key) else { return value }
    guard let choice = Choice(rawValue: text) else {
      let known = Choice.allCases.map(\.rawValue)
      let nearest = Nearest.match(text, among: known).map { "did you mean '\($0)'? " } ?? ""
      throw error(
        key, "unknown value \(Excerpt.quoted(text))", hint: nearest + "known: " + known.joined(separator: ", "))
    }
    return choice
  }

  private static func join(_ path: String, _ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }
}
