/// Scanner that finds the values of placeholders in a user's JSON object and skips everything else. The scanner runs
/// for every target of a personalised campaign.
///
/// The values are copied into JSON strings of payloads without changes, so the scanner also checks the JSON grammar. If
/// the text is not a JSON object, it finds no values. It ignores a value that is not UTF-8 or has half of a surrogate
/// pair.
struct AttributeScan {
  private let json: UnsafeRawBufferPointer
  private var at = 0
  /// Whether the last skipped string has an escape sequence (`hasEscape`), and whether it may be sent: valid UTF-8
  /// without half of a surrogate pair (`isSound`).
  private var hasEscape = false
  private var isSound = true

  private init(_ json: UnsafeRawBufferPointer) { self.json = json }

  /// Finds the values of some names.
  ///
  /// - Parameters:
  ///   - names: at most 64 names, escaped as in JSON strings.
  ///   - json: an object; empty for none.
  ///   - found: receives the text of the value for each name. An entry that is already set does not change. `null`,
  ///     arrays and objects count as no value.
  static func find(
    _ names: [[UInt8]], in json: UnsafeRawBufferPointer, _ found: inout [UnsafeRawBufferPointer?]
  ) {
    guard !json.isEmpty else { return }
    var scan = AttributeScan(json)
    var new: UInt64 = 0
    let isObject = scan.walk { name, hasEscape, value in
      guard let place = Self.place(of: name, hasEscape, in: names), found[place] == nil else { return }
      found[place] = value
      new |= 1 << UInt64(place)
    }
    guard !isObject, new != 0 else { return }
    for place in names.indices where new >> UInt64(place) & 1 == 1 { found[place] = nil }
  }

  private static func place(of name: UnsafeRawBufferPointer, _ hasEscape: Bool, in names: [[UInt8]]) -> Int? {
    if hasEscape, let same = try? JSONValue(parsing: [0x22] + name + [0x22], maximumDepth: 1),
      case .string(let text) = same.kind
    {
      // Other programs may escape characters that Carillon does not escape.
      let name = JSONWriter.escaped(text)
      return names.firstIndex(of: name)
    }
    return names.firstIndex { $0.count == name.count && $0.elementsEqual(name) }
  }

  /// Scans an object. Calls `body` for each member whose value can be put into a JSON string, with three arguments: the
  /// name, whether the name has an escape sequence, and the text of the value.
  ///
  /// - Returns: whether the text is an object.
  private mutating func walk(_ body: (UnsafeRawBufferPointer, Bool, UnsafeRawBufferPointer) -> Void) -> Bool {
    guard take(UInt8(ascii: "{")) else { return false }
    if take(UInt8(ascii: "}")) { return isAtEnd }
    repeat {
      guard let name = string() else { return false }
      let hasEscape = hasEscape
      guard take(UInt8(ascii: ":")), let value = value() else { return false }
      if let text = value.text { body(rebased(name), hasEscape, rebased(text)) }
    } while take(UInt8(ascii: ","))
    return take(UInt8(ascii: "}")) && isAtEnd
  }

  private func rebased(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: json[range]) }

  /// Value that the scanner has skipped.
  private struct Value {
    /// Range of the value's text; `nil` if the text can't be put into a JSON string.
    var text: Range<Int>?
  }

  /// Skips a value.
  ///
  /// - Returns: `nil` if the text has no further value.
  private mutating func value() -> Value? {
    skipBlanks()
    guard at < json.count else { return nil }
    switch json[at] {
    case UInt8(ascii: "\""):
      guard let text = string() else { return nil }
      return Value(text: isSound && UTF8Check.isValid(rebased(text)) ? text : nil)
    case UInt8(ascii: "["), UInt8(ascii: "{"): return skipNested() ? Value() : nil
    default:
      let start = at
      while at < json.count, Self.isWord(json[at]) { at += 1 }
      guard at > start else { return nil }
      return Value(text: json[at - 1] == UInt8(ascii: "l") ? nil : start..<at)
    }
  }

  /// Returns whether a byte can be part of a number, `true`, `false` or `null`. The caller recognizes `null` by its
  /// last letter, `l`. None of these bytes has a special meaning within a string.
  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "E"),
      UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
      true
    default: false
    }
  }

  /// Skips an array or an object.
  private mutating func skipNested() -> Bool {
    var depth = 0
    repeat {
      guard at < json.count else { return false }
      switch json[at] {
      case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      case UInt8(ascii: "\""):
        guard string() != nil else { return false }
        continue
      default: break
      }
      at += 1
    } while depth > 0
    return true
  }

  /// Skips a string.
  ///
  /// - Returns: the range of its text without the quotes.
  private mutating func string() -> Range<Int>? {
    guard take(UInt8(ascii: "\"")) else { return nil }
    (hasEscape, isSound) = (false, true)
    let start = at
    while at < json.count {
      switch json[at] {
      case UInt8(ascii: "\""):
        at += 1
        return start..<(at - 1)
      case UInt8(ascii: "\\"):
        hasEscape = true
        guard skipEscape() else { return nil }
      case 0..<0x20: return nil
      default: at += 1
      }
    }
    return nil
  }

  private mutating func skipEscape() -> Bool {
    guard at + 1 < json.count else { return false }
    switch json[at + 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      at += 2
      return true
    case UInt8(ascii: "u"):
      guard let unit = codeUnit(at: at) else { return false }
      at += 6
      switch unit {
      case 0xD800...0xDBFF:
        guard let low = codeUnit(at: at), 0xDC00...0xDFFF ~= low else {
          isSound = false
          return true
        }
        at += 6
      case 0xDC00...0xDFFF: isSound = false
      default: break
      }
      return true
    default: return false
    }
  }

  /// Returns the code unit of `\uXXXX`.
  private func codeUnit(at place: Int) -> UInt16? {
    guard place + 6 <= json.count, json[place] == UInt8(ascii: "\\"), json[place + 1] == UInt8(ascii: "u") else {
      return nil
    }
    var unit: UInt16 = 0
    for byte in json[(place + 2)..<(place + 6)] {
      guard let digit = Self.digit(byte) else { return nil }
      unit = unit << 4 | digit
    }
    return unit
  }

  private static func digit(_ byte: UInt8) -> UInt16? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte - UInt8(ascii: "a")) + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte - UInt8(ascii: "A")) + 10
    default: nil
    }
  }

  private mutating func skipBlanks() {
    while at < json.count, JSONParser.isBlank(json[at]) { at += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    skipBlanks()
    guard at < json.count, json[at] == byte else { return false }
    at += 1
    return true
  }

  private var isAtEnd: Bool { json[at...].allSatisfy(JSONParser.isBlank) }
}

/// Check whether bytes are UTF-8 (RFC 3629), without the creation of a string.
enum UTF8Check {
  static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var at = 0
    while at < bytes.count {
      let first = bytes[at]
      if first < 0x80 {
        at += 1
        continue
      }
      let (length, second): (Int, ClosedRange<UInt8>)
      switch first {
      case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
      case 0xE0: (length, second) = (3, 0xA0...0xBF)
      case 0xED: (length, second) = (3, 0x80...0x9F)
      case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
      case 0xF0: (length, second) = (4, 0x90...0xBF)
      case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
      case 0xF4: (length, second) = (4, 0x80...0x8F)
      default: return false
      }
      guard at + length <= bytes.count, second.contains(bytes[at + 1]) else { return false }
      for place in (at + 2)..<max(at + 2, at + length) where bytes[place] & 0xC0 != 0x80 { return false }
      at += length
    }
    return true
  }
}
