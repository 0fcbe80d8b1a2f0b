internal import COpenSSL

/// Base64 (RFC 4648) by OpenSSL.
public enum Base64 {
  /// Alphabet of RFC 4648.
  public enum Alphabet: Sendable {
    /// Section 4, with padding.
    case standard
    /// Section 5, as in JSON Web Tokens: without padding (RFC 7515 section 2).
    case url
  }

  /// Returns the text for the bytes.
  public static func encode(_ bytes: [UInt8], _ alphabet: Alphabet = .standard) -> String {
    // EVP_EncodeBlock(3) writes four characters for each group of up to three bytes, and a zero that is not counted.
    let text = [UInt8](unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { buffer, count in
      count = Int(EVP_EncodeBlock(buffer.baseAddress, bytes, Int32(bytes.count)))
    }
    guard alphabet == .url else { return String(decoding: text, as: UTF8.self) }
    return String(
      decoding: text.prefix { $0 != padding }.map { $0 == plus ? minus : $0 == slash ? underscore : $0 }, as: UTF8.self)
  }

  /// Returns the bytes of a text in the standard alphabet.
  ///
  /// - Returns: `nil` if the text is not Base64 with all its padding.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? { decode(Array(text), padded: true) }

  /// Returns the bytes of a text in either alphabet, with padding or without, because senders of JSON Web Tokens use
  /// all of these.
  ///
  /// - Returns: `nil` if the text is not Base64.
  public static func decodeLeniently(_ text: some Collection<UInt8>) -> [UInt8]? {
    let letters = text.map { $0 == minus ? plus : $0 == underscore ? slash : $0 }
    let end = letters.lastIndex { $0 != padding }.map { $0 + 1 } ?? 0
    return decode(Array(letters[..<end]), padded: false)
  }

  private static func decode(_ text: [UInt8], padded: Bool) -> [UInt8]? {
    let missing = (4 - text.count % 4) % 4
    // At most two characters of a whole group can be missing.
    guard missing == 0 || !padded && missing < 3 else { return nil }
    let whole = text + Array(repeating: padding, count: missing)
    let end = whole.firstIndex(of: padding) ?? whole.count
    // EVP_DecodeBlock(3) skips white space at both ends, and reads padding as zeros.
    guard whole.count - end <= 2, whole[end...].allSatisfy({ $0 == padding }), !whole[..<end].contains(where: isSpace)
    else { return nil }
    var isBroken = false
    let bytes = [UInt8](unsafeUninitializedCapacity: whole.count / 4 * 3) { buffer, count in
      let decoded = Int(EVP_DecodeBlock(buffer.baseAddress, whole, Int32(whole.count)))
      isBroken = decoded < 0
      count = max(0, decoded - (whole.count - end))
    }
    ERR_clear_error()
    return isBroken ? nil : bytes
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

  private static let padding = UInt8(ascii: "=")
  private static let plus = UInt8(ascii: "+")
  private static let minus = UInt8(ascii: "-")
  private static let slash = UInt8(ascii: "/")
  private static let underscore = UInt8(ascii: "_")
}
