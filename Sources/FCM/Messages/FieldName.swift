internal import PushCore

/// Names of the fields of FCM's messages. FCM accepts each name in snake_case and in lowerCamelCase.
///
/// Source: Protocol Buffers, "ProtoJSON Format".
enum FieldName {
  /// Returns the lowerCamelCase form of a name.
  static func camelCase(_ name: String) -> String {
    var result = ""
    var isRaised = false
    for character in name {
      if character == "_" {
        isRaised = true
      } else {
        result += isRaised ? character.uppercased() : String(character)
        isRaised = false
      }
    }
    return result
  }
}

extension [JSONValue.Member] {
  /// Returns the value of a field with either spelling of its name; `nil` if the field is missing or `null`.
  ///
  /// - Parameter name: the name in snake_case.
  func field(_ name: String) -> JSONValue? { value(name) ?? value(FieldName.camelCase(name)) }

  /// Returns the members of a field that is an object; `nil` for any other value.
  func object(_ name: String) -> [JSONValue.Member]? {
    if case .object(let members)? = field(name)?.kind { members } else { nil }
  }

  /// Returns whether a field is present, even with the value `null`.
  func hasField(_ name: String) -> Bool {
    let other = FieldName.camelCase(name)
    return contains { $0.name == name || $0.name == other }
  }
}
