/// The rules for the `payload` of a job.
enum JobPayload {
  /// The payload without insignificant white space, otherwise as the producer wrote it.
  ///
  /// - Parameter bytes: the text that `value` stands in.
  static func read(
    _ value: JSONValue, in bytes: [UInt8], path: String, pushType: PushType
  ) throws(JobError) -> [UInt8] {
    guard case .object(let members) = value.kind else {
      throw JobError(field: path, message: "must be a JSON object, not \(value.kindName)")
    }
    if let aps = members.first(where: { $0.name == "aps" })?.value {
      guard case .object = aps.kind else {
        throw JobError(field: path + ".aps", message: "must be a JSON object, not \(aps.kindName)")
      }
    }
    try refuseTemplates(value, path: path)
    let payload = JSONValue.minified(bytes[value.range])
    let limit = pushType.maximumPayload
    guard payload.count <= limit else {
      throw JobError(
        field: path,
        message: "\(payload.count) bytes, which is \(payload.count - limit) over the \(limit) that APNs allows for "
          + "push type \(pushType.rawValue)",
        hint: "shorten it, or send a reference that the app fetches")
    }
    return payload
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
        let name = Excerpt.quoted(member.name).dropFirst().dropLast()
        try refuseTemplates(member.value, path: path + "." + name)
      }
    case .array(let elements):
      for (index, element) in elements.enumerated() { try refuseTemplates(element, path: path + "[\(index)]") }
    case .number, .bool, .null: break
    }
  }
}
