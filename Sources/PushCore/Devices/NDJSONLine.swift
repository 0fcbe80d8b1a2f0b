/// One line of a device file in NDJSON.
enum NDJSONLine {
  /// A device is flat; what is deeper is an error of its own in ``row(_:_:_:)``, with a better message.
  private static let maximumNesting = 8

  static func scan(_ bytes: [UInt8], in range: Range<Int>, isFinal: Bool) -> RecordStep {
    let lineEnd = bytes[range].firstIndex(of: UInt8(ascii: "\n"))
    guard let end = lineEnd ?? (isFinal ? range.upperBound : nil) else { return .needsMore }
    var content = range.lowerBound..<end
    while let last = content.last, JSONParser.isBlank(bytes[last]) { content.removeLast() }
    return .record(content: content, next: lineEnd.map { $0 + 1 } ?? end, lines: lineEnd == nil ? 0 : 1)
  }

  /// The members of a line of another system's export.
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

  /// - Parameter attributes: names that have been looked at, of earlier lines too.
  static func row(
    _ bytes: [UInt8], _ vocabulary: DeviceVocabulary, _ attributes: inout Set<String>
  ) throws(DeviceRowDraft.Problem) -> DeviceRow {
    var draft = DeviceRowDraft(vocabulary)
    for member in try object(bytes, maximumDepth: maximumNesting) {
      let text: String
      switch member.value.kind {
      case .string(let string): text = string
      case .number(let digits): text = digits
      case .bool(let bool): text = bool ? "true" : "false"
      case .null: continue
      case .object, .array:
        throw DeviceRowDraft.Problem(
          description: "\(Excerpt.quoted(member.name)): must be a string or a number, not \(member.value.kindName)")
      }
      if let column = DeviceColumn(rawValue: member.name) {
        try draft.set(column, to: text)
      } else {
        if !attributes.contains(member.name) {
          try vocabulary.checkAttributeName(member.name)
          // Files of millions of names are not remembered whole.
          if attributes.count < DeviceRowDraft.maximumAttributes { attributes.insert(member.name) }
        }
        try draft.setAttribute(member.name, to: text)
      }
    }
    return try draft.row()
  }
}
