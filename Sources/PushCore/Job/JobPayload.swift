/// What a job may have for a `payload`; what is in it is judged by the push service.
enum JobPayload {
  /// The payload without insignificant white space, otherwise as the producer wrote it.
  ///
  /// - Parameter bytes: the text that `value` stands in.
  static func read(_ value: JSONValue, in bytes: [UInt8], path: String) throws(JobError) -> [UInt8] {
    guard case .object = value.kind else {
      throw JobError(field: path, message: "must be a JSON object, not \(value.kindName)")
    }
    try refuseTemplates(value, path: path)
    return JSONValue.minified(bytes[value.range])
  }

  /// Templates are the contract's, but this version would send them to people's screens as they stand.
  private static func refuseTemplates(_ value: JSONValue, path: String) throws(JobError) {
    switch value.kind {
    case .string(let text):
      if let open = text.firstRange(of: "{{"), text[open.upperBound...].contains("}}") {
        throw JobFields.notYet(field: path, "a template, {{…}},")
      }
    case .object(let members):
      for member in members {
        try refuseTemplates(member.value, path: path + "." + Excerpt.bare(member.name))
      }
    case .array(let elements):
      for (index, element) in elements.enumerated() { try refuseTemplates(element, path: path + "[\(index)]") }
    case .number, .bool, .null: break
    }
  }
}
