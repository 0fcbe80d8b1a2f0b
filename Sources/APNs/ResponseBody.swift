internal import PushCore

/// The content of a rejection's body: `{"reason":"Unregistered","timestamp":1700000000000}`.
///
/// A body that is not a flat JSON object has no reason. The status then decides the consequences.
struct ResponseBody: Equatable {
  /// The reason; `other` if this version does not know it.
  var reason = Reason.none
  /// `timestamp` in ms since the epoch; 0 if absent.
  var timestamp: UInt64 = 0
  /// The text of an unknown reason.
  var unknownReason: String?

  /// - Parameter bytes: the received body. It may be empty, incomplete or any other bytes.
  init(_ bytes: UnsafeRawBufferPointer) {
    var scanner = JSONScanner(bytes)
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

  private mutating func setReason(_ name: JSONScanner.Text) {
    reason = Reason(name: UnsafeRawBufferPointer(rebasing: name))
    if reason == .other { unknownReason = UnknownReason.text(name) }
  }
}
