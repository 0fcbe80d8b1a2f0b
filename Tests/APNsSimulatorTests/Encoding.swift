import Foundation

/// Returns base64url (RFC 7515 section 2) by Foundation, so that the test is independent of the simulator's decoder.
func base64(_ bytes: [UInt8]) -> String {
  Data(bytes).base64EncodedString()
    .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    .replacingOccurrences(of: "=", with: "")
}

/// Converts r‖s to an ECDSA-Sig-Value (RFC 3279 section 2.2.3).
func der(_ raw: [UInt8]) -> [UInt8] {
  func integer(_ half: ArraySlice<UInt8>) -> [UInt8] {
    var digits = Array(half.drop { $0 == 0 })
    if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
    return [0x02, UInt8(digits.count)] + digits
  }
  let body = integer(raw[..<32]) + integer(raw[32...])
  return [0x30, UInt8(body.count)] + body
}

enum Clock {
  /// Seconds since 1970.
  static var seconds: Int64 { Int64(Date().timeIntervalSince1970) }
}
