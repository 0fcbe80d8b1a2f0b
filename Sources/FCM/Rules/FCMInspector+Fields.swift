internal import PushCore
internal import ServiceTools

/// Rules for single fields and their values.
extension FCMInspector {
  /// Checks an object against its schema.
  ///
  /// - Parameter path: path of the object.
  mutating func check(_ members: [JSONValue.Member], as schema: MessageSchema, path: String) {
    for member in members where !isFull {
      let place = (path.isEmpty ? "" : path + ".") + Excerpt.bare(member.name)
      guard let field = schema.field(member.name) else {
        if path == draft.path, Self.hasOwnRule(member.name) { continue }
        report(
          .unknownField, place, "FCM does not know the field",
          hint: Nearest.hint(member.name, among: schema.fields.keys))
        continue
      }
      if case .null = member.value.kind {
        report(.null, place, "is null", hint: "omit the field")
      } else {
        check(member.value, as: field.type, path: place)
      }
    }
    for part in ["body", "title"] where members.hasField("\(part)_loc_args") && !members.hasField("\(part)_loc_key") {
      guard schema.fields["\(part)_loc_args"] != nil else { continue }
      report(
        .localizationArguments, (path.isEmpty ? "" : path + ".") + "\(part)_loc_args", "has no \(part)_loc_key",
        hint: "add \(part)_loc_key")
    }
    guard schema.fields["light_on_duration"] != nil else { return }
    let missing = ["color", "light_on_duration", "light_off_duration"].filter { !members.hasField($0) }
    guard !missing.isEmpty else { return }
    report(.lightSettings, path, "has no \(missing.joined(separator: ", "))", hint: "FCM needs all three fields")
  }

  private mutating func check(_ value: JSONValue, as type: FieldType, path: String) {
    switch (type, value.kind) {
    case (.string, .string), (.bool, .bool), (.any, .object): break
    case (.object(let schema), .object(let members)): check(members, as: schema, path: path)
    case (.strings, .object(let members)), (.data, .object(let members)):
      checkStrings(members, isData: isData(type), path: path)
    case (.list(let inner), .array(let elements)):
      for (index, element) in elements.enumerated() where !isFull {
        check(element, as: inner, path: "\(path)[\(index)]")
      }
    case (.int32, .number(let digits)):
      guard Int32(digits) == nil else { break }
      report(.wrongType, path, "\(Excerpt.bare(digits)) is not a whole number of 32 bits")
    case (.share, .number(let digits)):
      guard let number = Double(digits), !(0...1).contains(number) else { break }
      report(.unknownValue, path, "\(Excerpt.bare(digits)) is not a number from 0 to 1")
    // Carillon replaces a step such as `"+1"` by the badge count of each user.
    case (.int32, .string(let text)) where path.hasSuffix("notification_count") && BadgeStep.read(text) != nil: break
    case (.choice(let words), .string(let text)):
      guard !words.contains(text) else { break }
      report(.unknownValue, path, "FCM does not know \(Excerpt.quoted(text))", hint: Nearest.hint(text, among: words))
    case (_, .string(let text)) where isText(type): check(text, as: type, path: path)
    default: report(.wrongType, path, "must be \(name(of: type)), not \(value.kindName)")
    }
  }

  private mutating func check(_ text: String, as type: FieldType, path: String) {
    let quoted = Excerpt.quoted(text)
    switch type {
    case .duration:
      guard Self.seconds(text) == nil else { break }
      report(.duration, path, "\(quoted) is not a duration", hint: "write seconds with s, such as 3.5s")
    case .lifetime:
      guard let seconds = Self.seconds(text), seconds <= Double(MessageAdditions.maximumLifetime) else {
        return report(
          .lifetime, path, "\(quoted) is not a duration from 0s to \(MessageAdditions.maximumLifetime)s",
          hint: "write seconds with s, such as 3600s; or omit it, and set the job's expiration")
      }
    case .time:
      // FCM reads up to nine fractional digits of a second. `Timestamp` accepts them and drops all after the third.
      guard Timestamp.milliseconds(text) == nil else { break }
      report(.time, path, "\(quoted) is not a time", hint: "write it as 2026-12-01T09:00:00Z")
    case .color:
      guard !Self.isColor(text) else { break }
      report(.color, path, "\(quoted) is not #rrggbb", hint: "write six hexadecimal digits, such as #ff8800")
    case .label:
      guard !Self.isLabel(text) else { break }
      report(
        .analyticsLabel, path,
        "\(quoted) is not a label: 1 to \(MessageAdditions.maximumLabel) of a-z A-Z 0-9 - _ . ~ %",
        hint: "omit it: the default is the campaign's id")
    case .image:
      guard !text.hasPrefix("https://"), !text.hasPrefix("http://"), !text.hasPrefix("{{") else { break }
      report(.image, path, "\(quoted) is not a URL", hint: "write https://…")
    case .link:
      guard !text.hasPrefix("https://"), !text.hasPrefix("{{") else { break }
      report(.webLink, path, "\(quoted) does not begin with https://", hint: "write https://…")
    default: break
    }
  }

  private mutating func checkStrings(_ members: [JSONValue.Member], isData: Bool, path: String) {
    for member in members where !isFull {
      let place = path + "." + Excerpt.bare(member.name)
      if isData, Self.isReserved(member.name) {
        report(
          .dataKey, place, "is a name that FCM reserves",
          hint: "choose another name, such as app_\(Excerpt.bare(member.name))")
      }
      if case .string = member.value.kind { continue }
      report(
        isData ? .dataValue : .wrongType, place, "must be a string, not \(member.value.kindName)",
        hint: "write the value in quotes; for an object write its JSON as a string")
    }
  }

  // MARK: Values

  private func isData(_ type: FieldType) -> Bool { if case .data = type { true } else { false } }

  /// Returns whether the values of a type are texts with their own rule.
  private func isText(_ type: FieldType) -> Bool {
    switch type {
    case .duration, .lifetime, .time, .color, .label, .image, .link: true
    default: false
    }
  }

  private func name(of type: FieldType) -> String {
    switch type {
    case .string, .duration, .lifetime, .time, .color, .label, .image, .link, .choice: "a string"
    case .bool: "true or false"
    case .int32, .share: "a number"
    case .list: "an array"
    case .strings, .data, .any, .object: "an object"
    }
  }

  /// Returns whether FCM reserves a key of the data. Google's documentation has two versions of this rule. This
  /// function uses the version that reserves more keys.
  static func isReserved(_ key: String) -> Bool {
    key == "from" || key == "message_type" || key.hasPrefix("google") || key.hasPrefix("gcm")
  }

  /// Returns the seconds of a duration, such as `3.5s`. Source: Protocol Buffers, "ProtoJSON Format".
  private static func seconds(_ text: String) -> Double? {
    guard text.hasSuffix("s") else { return nil }
    let digits = text.dropLast()
    let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isDigit) }),
      parts.count == 1 || parts[1].count <= 9
    else { return nil }
    return Double(digits)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func isColor(_ text: String) -> Bool {
    text.utf8.count == 7 && text.hasPrefix("#") && text.utf8.dropFirst().allSatisfy { Hex.value(of: $0) != nil }
  }

  private static func isLabel(_ text: String) -> Bool {
    (1...MessageAdditions.maximumLabel).contains(text.utf8.count)
      && text.utf8.allSatisfy { PlainName.isLetter($0) || $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "%") }
  }
}
