internal import COpenSSL
internal import Foundation
internal import TextInput

/// Reads the text of a `.p8` file, even if a secret store, an environment variable or a person has changed its line
/// breaks.
///
/// PEM requires line breaks (RFC 7468, section 2). Base64 does not, so this type can restore the lines.
enum SigningKeyText {
  private static let begin = "-----BEGIN PRIVATE KEY-----"
  private static let end = "-----END PRIVATE KEY-----"
  /// Number of characters in a line of PEM (RFC 7468, section 3).
  private static let lineLength = 64

  /// Returns the private key in a PEM text, with a reference that the caller must free (`EVP_PKEY_free`).
  ///
  /// - Throws: ``SigningKeyProblem`` for an encrypted or damaged key, and for a text without a key.
  static func key(in bytes: [UInt8]) throws(SigningKeyProblem) -> OpaquePointer {
    let text = String(decoding: bytes, as: UTF8.self)
    guard !text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----"), !text.contains("Proc-Type: 4,ENCRYPTED") else {
      throw .encrypted
    }
    let restored = try restored(bytes)
    let key = try? PEM.privateKey(in: String(decoding: restored, as: UTF8.self))
    ERR_clear_error()
    guard let key else { throw .notAKey }
    return key
  }

  /// Returns the key as PEM with its line breaks.
  ///
  /// Accepts a key with `\n` as text, a key on one line, an indented key, a key in quotes, a PEM text that was encoded
  /// in Base64 as a whole, and the Base64 text alone. Returns a text that is not a PKCS#8 key unchanged.
  ///
  /// - Throws: ``SigningKeyProblem`` for a key that lost more than its line breaks.
  static func restored(_ bytes: [UInt8]) throws(SigningKeyProblem) -> [UInt8] {
    let text = plain(ByteOrderMark.dropped(from: bytes))
    if text.contains("-----BEGIN ") || text.contains("PRIVATE KEY-----") { return try pem(text) ?? bytes }
    guard let inner = base64(text) else { return bytes }
    let innerText = plain(ByteOrderMark.dropped(from: inner))
    if innerText.contains(begin) { return try pem(innerText) ?? bytes }
    // The bytes are a SEQUENCE, as DER of PKCS#8 is (RFC 5958, section 2). So the text was PEM without its first and
    // its last line.
    return inner.first == 0x30 ? Array(lines(of: inner).utf8) : bytes
  }

  /// Returns the text with real line breaks instead of `\n`, and without quotes around it.
  private static func plain(_ bytes: [UInt8]) -> String {
    String(decoding: bytes, as: UTF8.self).replacing("\\r", with: "\n").replacing("\\n", with: "\n")
      .trimmingCharacters(in: CharacterSet(charactersIn: " \t\r\n\"'"))
  }

  /// Returns the key in a PEM text, with its line breaks restored.
  ///
  /// - Returns: `nil` for PEM of another kind. OpenSSL then reads or refuses the text.
  private static func pem(_ text: String) throws(SigningKeyProblem) -> [UInt8]? {
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

  /// Returns the bytes of a Base64 text, ignoring white space; `nil` for any other text.
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
