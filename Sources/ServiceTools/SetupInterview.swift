/// Source of the values for a new configuration: the options of the command, and a person's answers for options that
/// are missing.
public struct SetupInterview {
  /// Values of the given options, by the option's name without its dashes.
  public let options: [String: String]
  private let ask: ((_ question: String, _ standard: String?) throws -> String)?
  private let relative: (String) -> String

  /// - Parameters:
  ///   - options: values by the option's name without its dashes.
  ///   - ask: asks a question and returns the answer; `standard` is the value of an empty answer. `nil` if no person
  ///     can answer.
  ///   - relative: converts a path to a path relative to the new file.
  public init(
    options: [String: String], ask: ((_ question: String, _ standard: String?) throws -> String)?,
    relative: @escaping (String) -> String
  ) {
    (self.options, self.ask, self.relative) = (options, ask, relative)
  }

  /// Whether a person can answer questions.
  public var asks: Bool { ask != nil }

  /// Returns the value of an option, or the answer to its question.
  ///
  /// - Parameter standard: the value for an empty answer, or if no person can answer; `nil` if the option has no
  ///   default.
  /// - Throws: ``ServiceError`` if no person can answer and there is no `standard`.
  public func answer(_ option: String, _ question: String, standard: String? = nil) throws -> String {
    if let value = options[option] { return value }
    if let ask { return try ask(question, standard) }
    guard let standard else {
      throw ServiceError(
        .usage, "--\(option) is missing",
        hint: "add the option, or run carillon init on a terminal and answer its questions; see carillon init --help")
    }
    return standard
  }

  /// Returns a path relative to the new file.
  public func path(_ path: String) -> String { relative(path) }
}

/// Settings of an app for a configuration that has not been written yet.
public struct SetupDraft: Sendable, Equatable {
  /// Lines of YAML, without the indentation of the app.
  public var lines: [String] = []
  /// Files that the options name. The command writes the configuration only if these files exist.
  public var files: [String] = []

  /// Creates an instance with these values.
  public init(lines: [String] = [], files: [String] = []) { (self.lines, self.files) = (lines, files) }

  /// Adds a line.
  ///
  /// - Parameters:
  ///   - value: the value of the key; `nil` adds the name of a section.
  ///   - depth: number of sections around the key.
  public mutating func add(_ key: String, _ value: String?, depth: Int = 0) {
    lines.append(String(repeating: "  ", count: depth) + key + ":" + (value.map { " \(YAMLText.quoted($0))" } ?? ""))
  }
}
