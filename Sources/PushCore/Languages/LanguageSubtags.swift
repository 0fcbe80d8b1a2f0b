/// Subtags of a language tag, as written in a text: language, script, region and variant. Each subtag is packed into an
/// integer, with eight bits for each letter.
struct LanguageSubtags {
  private(set) var language: UInt32 = 0
  private(set) var script: UInt32 = 0
  private(set) var region: UInt32 = 0
  private(set) var variant: UInt64 = 0

  /// - Parameter text: subtags with `-` or `_` between them. The text from `@`, from `.` or from a subtag of one letter
  ///   to the end is dropped.
  /// - Returns: `nil` if the text has another form.
  init?(_ text: some Collection<UInt8>) {
    guard text.count <= LanguageTag.maximumBytes else { return nil }
    var subtag = Subtag()
    var isOver = false
    // Whether the last subtag was empty. Only a `#` may follow it.
    var hasGap = false
    for byte in text {
      switch byte {
      case UInt8(ascii: "-"), UInt8(ascii: "_"):
        guard !hasGap, add(subtag) else { return nil }
        isOver = subtag.isSingleton
        hasGap = subtag.count == 0
        subtag = Subtag()
      // Java writes the script after all other subtags, `zh_TW_#Hant`, and may leave the region empty: `sr__#Latn`.
      case UInt8(ascii: "#"):
        guard subtag.count == 0, language != 0 else { return nil }
        hasGap = false
      case UInt8(ascii: "@"), UInt8(ascii: "."):
        guard !hasGap, subtag.count > 0, add(subtag) else { return nil }
        isOver = true
      default:
        guard subtag.add(byte) else { return nil }
      }
      if isOver { return }
    }
    guard !hasGap, subtag.count > 0, add(subtag) else { return nil }
  }

  /// Adds a complete subtag.
  ///
  /// - Returns: whether the subtag is allowed at its position.
  private mutating func add(_ subtag: Subtag) -> Bool {
    if language == 0 {
      guard 2...3 ~= subtag.count, subtag.isOfLetters else { return false }
      language = UInt32(subtag.small)
      return true
    }
    switch subtag.count {
    case 0: return region == 0 && script == 0
    case 1: return true
    case 3 where subtag.isOfLetters:
      // The subtag is an extended language (RFC 5646, section 4.5), such as `yue` in `zh-yue`. The preferred form has
      // only this subtag, without the language before it.
      guard script == 0, region == 0, variant == 0 else { return false }
      language = UInt32(subtag.small)
    case 4 where subtag.isOfLetters:
      guard script == 0 else { return false }
      script = UInt32(subtag.title)
    case 2 where subtag.isOfLetters, 3 where subtag.isOfDigits:
      // Java repeats the region for a calendar or for digits: `ja_JP_JP_#u-ca-japanese`.
      guard region == 0 || region == UInt32(subtag.capital), variant == 0 else { return false }
      region = UInt32(subtag.capital)
    case 4 where subtag.beginsWithDigit, 5...8:
      if variant == 0 { variant = subtag.small }
    default: return false
    }
    return true
  }

  /// Returns the letters of a packed subtag.
  static func text(_ packed: UInt64) -> String {
    let bytes = (0..<8).reversed().map { UInt8(truncatingIfNeeded: packed >> UInt64($0 * 8)) }
    return String(decoding: bytes.drop { $0 == 0 }, as: UTF8.self)
  }
}

/// Subtag that the reader is collecting.
private struct Subtag {
  private(set) var small: UInt64 = 0
  private(set) var count = 0
  private(set) var digits = 0
  private(set) var beginsWithDigit = false

  var isOfLetters: Bool { digits == 0 }
  var isOfDigits: Bool { digits == count }
  /// Whether the subtag begins an extension or a private part.
  var isSingleton: Bool { count == 1 }

  /// For each letter of a subtag, the bit that distinguishes a capital from a small letter.
  private static let caseBits: UInt64 = 0x2020_2020_2020_2020

  var capital: UInt64 { isOfDigits ? small : small & ~(Self.caseBits & (1 << UInt64(count * 8) - 1)) }
  var title: UInt64 { small & ~(0x20 << UInt64((count - 1) * 8)) }

  /// Adds a character to the subtag.
  ///
  /// - Returns: whether the byte is allowed in a subtag.
  mutating func add(_ byte: UInt8) -> Bool {
    let isDigit = UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    let letter = byte | 0x20
    guard count < 8, isDigit || UInt8(ascii: "a")...UInt8(ascii: "z") ~= letter else { return false }
    if count == 0 { beginsWithDigit = isDigit }
    digits += isDigit ? 1 : 0
    small = small << 8 | UInt64(isDigit ? byte : letter)
    count += 1
    return true
  }
}
