internal import PushCore
internal import ServiceTools

/// Rules for every key that Apple defines: its type, its range, and whether it is still in use.
extension APNsInspector {
  mutating func checkKeys(_ aps: [JSONValue.Member]) {
    for member in aps where !isFull {
      let place = path("aps.\(Excerpt.bare(member.name))")
      guard let shape = APSKey.aps[member.name] else {
        reportUnknown(member.name, at: place)
        continue
      }
      // In a job, `badge` can be a string that increments the badge of each user. The push that is sent contains a
      // number.
      if member.name == "badge", !draft.path.isEmpty, case .string(let text) = member.value.kind,
        BadgeStep.read(text) != nil
      {
        continue
      }
      if check(member.value, is: shape, at: place) { checkRange(member, at: place) }
    }
  }

  private mutating func reportUnknown(_ name: String, at place: String) {
    if readsAPS, APSKey.alert[name] != nil {
      report(.apsUnknown, place, "is not a key of aps", hint: "it belongs in aps.alert")
    } else if readsAPS, let meant = APSKey.meant(by: name, among: APSKey.aps.keys) {
      report(.apsUnknown, place, "is not a key of aps", hint: "did you mean '\(meant)'?")
    } else {
      report(
        .apsCustom, place, "is not one of Apple's keys: the app can't read it inside aps",
        hint: "move it out of aps, to the top level")
    }
  }

  // MARK: Ranges

  private mutating func checkRange(_ member: JSONValue.Member, at place: String) {
    switch (member.name, member.value.kind) {
    case ("badge", .number(let text)):
      if let number = Double(text), (0...Double(Int32.max)).contains(number), number == number.rounded() { break }
      report(.apsRange, place, "\(text) is not a badge count", hint: "use a whole number; 0 removes the badge")
    case ("relevance-score", .number(let text)) where draft.pushType != .liveactivity:
      checkShare(text, at: place)
    case ("interruption-level", .string(let text)):
      checkChoice(text, among: APSKey.interruptionLevels, at: place)
    case ("event", .string(let text)) where draft.pushType == .liveactivity:
      checkChoice(text, among: APSKey.events, at: place)
    default: break
    }
  }

  private mutating func checkShare(_ text: String, at place: String) {
    if let number = Double(text), (0...1).contains(number) { return }
    report(.apsRange, place, "\(text) is out of range", hint: "use a number from 0 to 1")
  }

  private mutating func checkChoice(_ text: String, among choices: [String], at place: String) {
    guard !choices.contains(text) else { return }
    report(.apsRange, place, "unknown value \(Excerpt.quoted(text))", hint: Nearest.hint(text, among: choices))
  }

  // MARK: Types

  /// Checks the type of a value, and reports a wrong type.
  ///
  /// - Returns: whether the value has the required type.
  private mutating func check(_ value: JSONValue, is shape: APSKey.Shape, at place: String) -> Bool {
    switch (shape, value.kind) {
    // Another check reports every `null` in the payload.
    case (_, .null): return false
    case (.string, .string), (.number, .number), (.object, .object), (.alert, .string), (.sound, .string): return true
    case (.yes, .bool(true)): return true
    case (.alert, .object(let members)): checkAlertKeys(members, at: place)
    case (.sound, .object(let members)): checkSoundKeys(members, at: place)
    case (.strings, .array(let elements)): return checkStrings(elements, at: place)
    case (.flag, .number(let text)) where Double(text) == 1: return true
    case (.flag, .number(let text)) where Double(text) == 0: reportFlag("\(text) has no effect", at: place)
    case (.flag, .bool(let flag)): reportFlag("\(flag) is a boolean", at: place)
    case (.instant, .number(let text)): return checkInstant(text, at: place)
    default:
      report(.apsType, place, "must be \(shape.form), not \(value.kindName)", hint: shape.hint(for: value))
      return false
    }
    return true
  }

  private mutating func reportFlag(_ what: String, at place: String) {
    report(.apsFlag, place, "\(what): Apple documents the number 1", hint: "write 1, or omit the key")
  }

  private mutating func checkStrings(_ elements: [JSONValue], at place: String) -> Bool {
    var areStrings = true
    for (index, element) in elements.enumerated() where !isFull {
      if case .string = element.kind { continue }
      if case .null = element.kind { continue }
      areStrings = false
      report(
        .apsType, "\(place)[\(index)]", "must be a string, not \(element.kindName)",
        hint: APSKey.Shape.string.hint(for: element))
    }
    return areStrings
  }

  /// Smallest number that must be in milliseconds, and not in seconds: as seconds, it would be in the year 5138; as
  /// milliseconds, it is in the year 1973.
  private static let minimumMilliseconds = 100_000_000_000.0

  private mutating func checkInstant(_ text: String, at place: String) -> Bool {
    guard let number = Double(text), number >= Self.minimumMilliseconds else { return true }
    report(
      .activitySeconds, place, "\(text) is in milliseconds: read as seconds, it is thousands of years in the future",
      hint: "divide it by 1000")
    return false
  }

  // MARK: Dictionaries

  private mutating func checkAlertKeys(_ alert: [JSONValue.Member], at place: String) {
    let isActivity = draft.pushType == .liveactivity
    for member in alert where !isFull {
      let inner = "\(place).\(Excerpt.bare(member.name))"
      // Title and body of a Live Activity may be dictionaries, and its sound is in the alert.
      if isActivity, member.name == "title" || member.name == "body", case .object(let keys) = member.value.kind {
        check(keys, have: APSKey.localized, at: inner)
      } else if isActivity, member.name == "sound" {
        _ = check(member.value, is: .string, at: inner)
      } else if let shape = APSKey.alert[member.name] {
        _ = check(member.value, is: shape, at: inner)
        reportDeprecation(of: member.name, at: inner)
      } else {
        reportUnknown(member.name, of: "alert", among: APSKey.alert, at: inner)
      }
    }
    for plain in ["title", "subtitle", "body"] {
      let key = plain == "body" ? "loc-key" : "\(plain)-loc-key"
      let arguments = plain == "body" ? "loc-args" : "\(plain)-loc-args"
      if alert.value(key) != nil, alert.value(plain) != nil {
        report(
          .localizationTwice, "\(place).\(plain)", "is not shown, because \(key) replaces it",
          hint: "remove one of them")
      }
      if alert.value(arguments) != nil, alert.value(key) == nil {
        report(.localizationArguments, "\(place).\(arguments)", "has no effect without \(key)", hint: "add \(key)")
      }
    }
  }

  private mutating func reportDeprecation(of key: String, at place: String) {
    let isWebsite = draft.app?.kind == .website
    guard let deprecation = APSKey.deprecation(inAlert: key, isWebsite: isWebsite) else { return }
    report(.deprecated, place, deprecation.since, hint: deprecation.instead)
  }

  private mutating func checkSoundKeys(_ sound: [JSONValue.Member], at place: String) {
    check(sound, have: APSKey.sound, at: place)
    if case .number(let text)? = sound.value("volume")?.kind { checkShare(text, at: "\(place).volume") }
  }

  private mutating func check(_ members: [JSONValue.Member], have keys: [String: APSKey.Shape], at place: String) {
    let name = place.split(separator: ".").last.map(String.init) ?? ""
    for member in members where !isFull {
      let inner = "\(place).\(Excerpt.bare(member.name))"
      if let shape = keys[member.name] {
        _ = check(member.value, is: shape, at: inner)
      } else {
        reportUnknown(member.name, of: name, among: keys, at: inner)
      }
    }
  }

  private mutating func reportUnknown(
    _ name: String, of dictionary: String, among keys: [String: APSKey.Shape], at place: String
  ) {
    if readsAPS, dictionary == "alert", APSKey.aps[name] != nil {
      report(.apsUnknown, place, "is not a key of alert", hint: "it belongs in aps, beside alert")
    } else if readsAPS, let meant = APSKey.meant(by: name, among: keys.keys) {
      report(.apsUnknown, place, "is not a key of \(dictionary)", hint: "did you mean '\(meant)'?")
    } else {
      report(.apsCustom, place, "is not a key of \(dictionary)", hint: Nearest.hint(name, among: keys.keys))
    }
  }
}

extension APSKey.Shape {
  /// Name of the required type, for findings.
  fileprivate var form: String {
    switch self {
    case .string: "a string"
    case .number: "a number"
    case .object: "an object"
    case .strings: "an array of strings"
    case .flag: "the number 1"
    case .yes: "true"
    case .alert, .sound: "a string or an object"
    case .instant: "a number, seconds since 1970"
    }
  }

  fileprivate func hint(for value: JSONValue) -> String? {
    switch (self, value.kind) {
    case (.number, .string), (.flag, .string): "remove the quotes"
    case (.instant, .string): "in a job it may be a duration such as 2h, or \(Timestamp.form)"
    case (.string, .number), (.string, .bool): "put it in quotes"
    case (.object, .string): "write it as JSON, not as a string of JSON"
    case (.yes, _): "write true"
    default: nil
    }
  }
}
