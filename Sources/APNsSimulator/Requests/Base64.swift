private import Foundation

/// Base64 as channel identifiers have it (RFC 4648 section 4).
enum Base64 {
  static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

  /// The decoded bytes, or `nil` for text that is not Base64 with its padding.
  static func decode(_ text: String) -> [UInt8]? { Data(base64Encoded: text).map { Array($0) } }
}
