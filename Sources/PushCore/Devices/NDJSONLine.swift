/// Line of a device file in NDJSON.
enum NDJSONLine {
  /// Maximum nesting of the JSON in a line. A device is a flat object, so every nested value is an error. The limit is
  /// higher than needed, because ``row(_:_:_:)`` reports a clearer error for a nested value than the JSON parser.
  private static let maximumNesting = 8

  static func scan(_ bytes: [UInt8], in range: Range<Int>, isFinal: Bool) -> RecordStep {
    let lineEnd = bytes[range].firstIndex(of: UInt8(ascii: "\n"))
    guard let end = lineEnd ?? (isFinal ? range.upperBound : nil) else { return .needsMore }
    var content = range.lowerBound..<end
    while let last = content.last, JSONParser.isBlank(bytes[last]) { content.removeLast() }
    return .record(content: content, next: lineEnd.map { $0 + 1 } ?? end, lines: lineEnd == nil ? 0 : 1)
  }

  /// Returns the members of a line in another system's export.
  static func members(_ bytes: [UInt8]) throws(DeviceRowDraft.Problem) -> [(name: String, value: JSONValue)] {
    try object(bytes, maximumDepth: ForeignRecord.maximumNesting).map { ($0.name, $0.value) }
  }

  private static func object(
    _ bytes: [UInt8], maximumDepth: Int
  ) throws(DeviceRowDraft.Problem) -> [JSONValue.Member] {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: bytes, maximumDepth: maximumDepth)
    } catch {
      throw DeviceRowDraft.Problem(description: "not valid JSON: column \(error.column): \(error.message)")
    }
    guard case .object(let members) = value.kind else {
      throw DeviceRowDraft.Problem(description: "must be a JSON object, not \(value.kindName)")
    }
    return members
  }

  /// Returns the device in a line.
  ///
  /// - Parameter attributes: cache of attribute names, by the names of the members in earlier lines.
  static func row(
    _ bytes: [UInt8], _ vocabulary: DeviceVocabulary, _ attributes: inout [String: String]
  ) throws(DeviceRowDraft.Problem) -> DeviceRow {
    var draft = DeviceRowDraft(vocabulary)
    for member in try object(bytes, maximumDepth: maximumNesting) {
      if case .null = member.value.kind { continue }
      if let column = DeviceColumn(rawValue: member.name) {
        try draft.accept(column, try text(of: member, column))
        continue
      }
      let text = try text(of: member, nil)
      let name: String
      if let known = attributes[member.name] {
        name = known
      } else {
        name = try vocabulary.attributeName(member.name)
        // The cache is limited, because a file may contain millions of different names.
        if attributes.count < DeviceRowDraft.maximumAttributes { attributes[member.name] = name }
      }
      try draft.setAttribute(name, to: text)
    }
    return try draft.row()
  }

  private static func text(
    of member: JSONValue.Member, _ column: DeviceColumn?
  ) throws(DeviceRowDraft.Problem) -> String {
    switch member.value.kind {
    case .string(let text): return text
    case .number where column == .user, .bool where column == .user:
      do throws(IdentifierError) { return try UserID.read(member.value) } catch { throw .init(error) }
    case .number(let digits): return digits
    case .bool(let bool): return bool ? "true" : "false"
    case .null, .object, .array:
      throw .init(
        description: "\(Excerpt.quoted(member.name)): must be a string or a number, not \(member.value.kindName)")
    }
  }
}
