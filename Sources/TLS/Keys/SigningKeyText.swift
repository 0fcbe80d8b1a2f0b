internal import Foundation
internal import TextInput

/// The text of a `.p8` file, whose line breaks a secret store, a variable or a person may have changed.
///
/// PEM needs its line breaks (RFC 7468, section 2). Base64 needs none, so the lines can be restored.
enum SigningKeyText {
  private static let begin = "-----BEGIN PRIVATE KEY-----"
  private static let end = "-----END PRIVATE KEY-----"
  /// The characters of a line of PEM (RFC 7468, section 3).
  private static let lineLength = 64

  /// Returns the key as PEM with its line breaks.
  ///
  /// It reads a key with `\n` written out, a key on one line, an indented key, a key in quotes, a key that was encoded in
  /// Base64 once more, and the Base64 alone. A text that is no PKCS#8 key is returned as it is.
  ///
  /// - Throws: ``SigningKeyError/Problem`` for a key that lost more than its line breaks.
  static func restored(_ bytes: [UInt8]) throws(SigningKeyError.Problem) -> [UInt8] {
    let text = plain(ByteOrderMark.dropped(from: bytes))
    if text.contains("-----BEGIN ") || text.contains("PRIVATE KEY-----") { return try pem(text) ?? bytes }
    guard let inner = base64(text) else { return bytes }
    let innerText = plain(ByteOrderMark.dropped(from: inner))
    if innerText.contains(begin) { return try pem(innerText) ?? bytes }
    // DER of PKCS#8 is a SEQUENCE (RFC 5958, section 2): the lines that begin and end the key are lost.
    return inner.first == 0x30 ? Array(lines(of: inner).utf8) : bytes
  }

  /// The text with the line breaks that are written out, and without quotes around it.
  private static func plain(_ bytes: [UInt8]) -> String {
    String(decoding: bytes, as: UTF8.self).replacing("\\r", with: "\n").replacing("\\n", with: "\n")
      .trimmingCharacters(in: CharacterSet(charactersIn: " \t\r\n\"'"))
  }

  /// - Returns: `nil` for PEM of another kind, which OpenSSL reads or refuses.
  private static func pem(_ text: String) throws(SigningKeyError.Problem) -> [UInt8]? {
    guard let start = text.firstRange(of: begin) else {
      if text.contains(end) { throw .damaged("its line \(begin) is missing") }
      return nil
    }
    guard let stop = text[start.upperBound...].firstRange(of: end) else {
      throw .damaged("it is cut off: its line \(end) is missing")
    }
    guard let der = base64(String(text[start.upperBound..<stop.lowerBound])) else {
      throw .damaged("the text between its first and its last line is not Base64")
    }
    return Array(lines(of: der).utf8)
  }

  /// The bytes of Base64, whatever white space is in it; `nil` for any other text.
  private static func base64(_ text: String) -> [UInt8]? {
    let letters = text.unicodeScalars.filter { !$0.properties.isWhitespace }
    guard !letters.isEmpty, let data = Data(base64Encoded: String(String.UnicodeScalarView(letters))) else {
      return nil
    }
    return Array(data)
  }

  private static func lines(of der: [UInt8]) -> String {
    var body = Data(der).base64EncodedString()[...]
    var text = begin + "\n"
    while !body.isEmpty {
      text += body.prefix(lineLength) + "\n"
      body = body.dropFirst(lineLength)
    }
    return text + end + "\n"
  }
}
