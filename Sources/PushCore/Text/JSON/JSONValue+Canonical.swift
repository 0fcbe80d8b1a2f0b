/// The canonical text of a JSON value, which is the same for all notations of the value.
extension JSONValue {
  /// Writes the value in its canonical form. Members are sorted by the bytes of their names. Each number and string has
  /// one spelling. The text contains no white space.
  func writeCanonical(to json: inout JSONWriter) {
    switch kind {
    case .object(let members): Self.writeCanonical(members, to: &json)
    case .array(let elements):
      json.beginArray()
      for element in elements { element.writeCanonical(to: &json) }
      json.endArray()
    case .string(let text): json.value(text)
    case .number(let digits): json.raw(JSONNumber.canonical(digits).utf8)
    case .bool(let bool): json.value(bool)
    case .null: json.null()
    }
  }

  /// Writes an object with these members.
  static func writeCanonical(_ members: [Member], to json: inout JSONWriter) {
    json.beginObject()
    for member in members.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
      json.name(member.name)
      member.value.writeCanonical(to: &json)
    }
    json.endObject()
  }
}

/// Canonical spelling of JSON numbers. The code works on decimal digits, because different decimal numbers can be equal
/// as binary floating-point numbers.
enum JSONNumber {
  /// Returns the canonical spelling of a number: digits without zeros at either end, and the power of ten. `10`, `10.0`
  /// and `1e1` become `1e1`; `-0` becomes `0`, as in RFC 8785. A number with an exponent beyond 64 bits is returned
  /// unchanged.
  ///
  /// - Parameter text: a number in the grammar of RFC 8259.
  static func canonical(_ text: String) -> String {
    let parts = text.split(maxSplits: 1, whereSeparator: { $0 == "e" || $0 == "E" })
    guard let written = parts.count == 2 ? Int(parts[1]) : 0 else { return text }
    let isNegative = text.first == "-"
    let mantissa = parts[0].drop { $0 == "-" }.split(separator: ".")
    let fraction = mantissa.count == 2 ? mantissa[1] : ""
    let digits = (mantissa[0] + fraction).drop { $0 == "0" }
    guard let last = digits.lastIndex(where: { $0 != "0" }) else { return "0" }
    let zeros = digits.distance(from: last, to: digits.endIndex) - 1
    let (exponent, overflow) = written.addingReportingOverflow(zeros - fraction.count)
    guard !overflow else { return text }
    return (isNegative ? "-" : "") + digits[...last] + (exponent == 0 ? "" : "e\(exponent)")
  }
}
