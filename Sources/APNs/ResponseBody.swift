internal import PushCore

/// The content of a rejection's body: `{"reason":"Unregistered","timestamp":1700000000000}`.
///
/// This reader uses no JSON decoder, which costs more than the push. A body that is not a flat JSON object has no
/// reason, and the status class decides.
struct ResponseBody: Equatable {
  /// The reason; `other` if this version does not know it.
  var reason = Reason.none
  /// ms since the epoch; 0 if absent.
  var timestamp: UInt64 = 0
  /// The text of an unknown reason.
  var unknownReason: String?

  /// Stored bytes of an unknown reason. Apple's longest reason has 27 bytes.
  static let longestUnknown = 64

  /// - Parameter bytes: the received body. It may be empty, incomplete or any other bytes.
  init(_ bytes: UnsafeRawBufferPointer) {
    var scanner = Scanner(bytes: bytes)
    guard scanner.take(UInt8(ascii: "{")) else { return }
    while let key = scanner.string(), scanner.take(UInt8(ascii: ":")) {
      if let value = scanner.string() {
        if key.elementsEqual("reason".utf8) { setReason(value) }
      } else if let value = scanner.literal() {
        if key.elementsEqual("timestamp".utf8) { timestamp = UInt64(String(decoding: value, as: UTF8.self)) ?? 0 }
      } else {
        return
      }
      guard scanner.take(UInt8(ascii: ",")) else { return }
    }
  }

  private mutating func setReason(_ name: Slice<UnsafeRawBufferPointer>) {
    reason = Reason(name: UnsafeRawBufferPointer(rebasing: name))
    guard reason == .other else { return }
    // Logs, CSV files and terminals get this text, so it contains only printable ASCII.
    let printable = name.prefix(Self.longestUnknown).map { (0x20..<0x7f).contains($0) ? $0 : UInt8(ascii: "?") }
    unknownReason = String(decoding: printable, as: UTF8.self)
  }
}

/// Reads the tokens of a flat JSON object (RFC 8259) and skips white space.
private struct Scanner {
  let bytes: UnsafeRawBufferPointer
  var place = 0

  init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  mutating func take(_ byte: UInt8) -> Bool {
    skipSpace()
    guard place < bytes.count, bytes[place] == byte else { return false }
    place += 1
    return true
  }

  /// Reads a string and returns its content with unchanged escapes. Returns `nil` and reads nothing if no string is
  /// next.
  mutating func string() -> Slice<UnsafeRawBufferPointer>? {
    skipSpace()
    guard place < bytes.count, bytes[place] == UInt8(ascii: "\"") else { return nil }
    var end = place + 1
    while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
      end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
    }
    guard end < bytes.count else { return nil }
    defer { place = end + 1 }
    return bytes[place + 1..<end]
  }

  /// Reads a number, `true`, `false` or `null`.
  mutating func literal() -> Slice<UnsafeRawBufferPointer>? {
    skipSpace()
    let start = place
    while place < bytes.count, Self.isLiteral(bytes[place]) { place += 1 }
    return place > start ? bytes[start..<place] : nil
  }

  private mutating func skipSpace() {
    while place < bytes.count, bytes[place] == 0x20 || (0x09...0x0d).contains(bytes[place]) { place += 1 }
  }

  private static func isLiteral(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"),
      UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "E"):
      true
    default: false
    }
  }
}
