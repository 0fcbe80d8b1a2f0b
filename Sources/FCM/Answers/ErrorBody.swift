internal import PushCore

/// Content of an error answer of FCM: `{"error":{"code":…,"message":…,"status":…,"details":[…]}}`.
///
/// The reader builds no JSON tree and copies no text, except an unknown reason. If the body is truncated or is not
/// JSON, the reader keeps the facts that it has read before the error. The order of the details and of their members
/// does not matter.
struct ErrorBody {
  /// The reason; ``FCMReason/none`` if the body has none, ``FCMReason/other`` for a reason that this version does not
  /// know.
  private(set) var reason = FCMReason.none
  /// Text of an unknown reason.
  private(set) var unknownReason: String?
  /// The quota of the project in messages per minute, if the push exceeded the quota and the body contains this number;
  /// 0 otherwise.
  private(set) var quotaPerMinute: UInt32 = 0

  /// Facts from the body that decide the reason.
  private struct Facts {
    typealias Text = Slice<UnsafeRawBufferPointer>
    /// `FcmError.errorCode`.
    var errorCode: Text?
    /// `ErrorInfo.reason`.
    var infoReason: Text?
    /// `error.status`.
    var status: Text?
    /// `ErrorInfo.metadata.quota_limit_value`, if it is a quota per minute.
    var quotaPerMinute: UInt32?
    /// Whether a `fieldViolations[].field` names the token or the installation ID.
    var isTokenNamed = false
    /// Whether a text says that the exceeded quota belongs to a device or a topic.
    var isTargetNamed = false
    var isTooLarge = false
  }

  /// - Parameters:
  ///   - status: the HTTP status. Only a 400 can say that the token is wrong.
  ///   - bytes: the received body. It may be empty, incomplete or any other bytes.
  init(status: UInt16, _ bytes: UnsafeRawBufferPointer) {
    var facts = Facts()
    var scanner = JSONScanner(bytes)
    Self.read(&scanner, &facts)
    guard let word = facts.errorCode ?? facts.infoReason ?? facts.status else { return }
    reason = FCMReason(word: word)
    switch reason {
    case .invalidArgument where status == 400 && facts.errorCode != nil && facts.isTokenNamed: reason = .invalidToken
    case .invalidArgument where facts.isTooLarge: reason = .messageTooLarge
    // Only an `FcmError` proves that the token is the cause. Any server between the worker and FCM can send a status or
    // another detail.
    case .unregistered where facts.errorCode == nil: reason = .notFound
    case .senderIDMismatch where facts.errorCode == nil: reason = .permissionDenied
    case .projectQuotaExceeded where facts.errorCode != nil && facts.isTargetNamed: reason = .targetQuotaExceeded
    case .other: unknownReason = UnknownReason.text(word)
    default: break
    }
    if reason == .projectQuotaExceeded { quotaPerMinute = facts.quotaPerMinute ?? 0 }
  }

  // MARK: Reading

  private static func read(_ scanner: inout JSONScanner, _ facts: inout Facts) {
    scanner.object { key, scanner in
      guard key.elementsEqual("error".utf8) else { return scanner.skip() }
      return scanner.object { key, scanner in
        switch key.count {
        case 6 where key.elementsEqual("status".utf8):
          facts.status = scanner.string()
          return facts.status != nil || scanner.skip()
        case 7 where key.elementsEqual("message".utf8):
          guard let text = scanner.string() else { return scanner.skip() }
          read(message: text, &facts)
          return true
        case 7 where key.elementsEqual("details".utf8):
          return scanner.array { detail(&$0, &facts) }
        default: return scanner.skip()
        }
      }
    }
  }

  /// Reads one element of `details`. The type of the element may come after its other members, so the members are
  /// evaluated at the end.
  private static func detail(_ scanner: inout JSONScanner, _ facts: inout Facts) -> Bool {
    var type: Facts.Text?
    var (code, reason): (Facts.Text?, Facts.Text?)
    var (limit, unit): (Facts.Text?, Facts.Text?)
    let isComplete = scanner.object { key, scanner in
      switch key.count {
      case 5 where key.elementsEqual("@type".utf8): type = scanner.string()
      case 9 where key.elementsEqual("errorCode".utf8): code = scanner.string()
      case 6 where key.elementsEqual("reason".utf8): reason = scanner.string()
      case 8 where key.elementsEqual("metadata".utf8):
        return scanner.object { key, scanner in
          guard let text = scanner.string() else { return scanner.skip() }
          if key.elementsEqual("quota_limit_value".utf8) { limit = text }
          if key.elementsEqual("quota_unit".utf8) { unit = text }
          return true
        }
      case 15 where key.elementsEqual("fieldViolations".utf8):
        return violations(&scanner) { key, text in
          guard key.elementsEqual("field".utf8) else { return }
          if text.elementsEqual("message.token".utf8) || text.elementsEqual("message.fid".utf8) {
            facts.isTokenNamed = true
          }
        }
      // `google.rpc.QuotaFailure`: the subject or the description says whether the quota belongs to a device, a topic
      // or the project.
      case 10 where key.elementsEqual("violations".utf8):
        return violations(&scanner) { _, text in readTarget(text, &facts) }
      default: return scanner.skip()
      }
      return true
    }
    if let type {
      if ends(type, "FcmError"), let code { facts.errorCode = code }
      if ends(type, "ErrorInfo"), let reason { facts.infoReason = reason }
      if ends(type, "ErrorInfo"), let limit, unit?.starts(with: "1/min/".utf8) ?? true {
        facts.quotaPerMinute = UInt32(String(decoding: limit, as: UTF8.self))
      }
    }
    return isComplete
  }

  /// Reads an array of objects, and calls `body` for each string in them.
  private static func violations(
    _ scanner: inout JSONScanner, _ body: (_ key: Facts.Text, _ text: Facts.Text) -> Void
  ) -> Bool {
    scanner.array { scanner in
      scanner.object { key, scanner in
        guard let text = scanner.string() else { return scanner.skip() }
        body(key, text)
        return true
      }
    }
  }

  /// The message in a 400 for a wrong token. Some of these answers do not name the field.
  private static let wrongToken = "The registration token is not a valid FCM registration token"

  private static func read(message: Facts.Text, _ facts: inout Facts) {
    if message.elementsEqual(wrongToken.utf8) { facts.isTokenNamed = true }
    // "Message is too large. The maximum is 4K (4096 bytes)." since 2026, and "Android message is too big" before. The
    // text only determines the name of the reason, not the consequence.
    if contains(message, "too large") || contains(message, "too big") { facts.isTooLarge = true }
    readTarget(message, &facts)
  }

  private static func readTarget(_ text: Facts.Text, _ facts: inout Facts) {
    if contains(text, "device") || contains(text, "topic") { facts.isTargetNamed = true }
  }

  private static func ends(_ text: Facts.Text, _ end: StaticString) -> Bool {
    text.count >= end.utf8CodeUnitCount
      && text.suffix(end.utf8CodeUnitCount).elementsEqual(
        UnsafeBufferPointer(start: end.utf8Start, count: end.utf8CodeUnitCount))
  }

  /// Returns whether a text contains a word, regardless of the case of ASCII letters.
  ///
  /// - Parameter word: lower case.
  private static func contains(_ text: Facts.Text, _ word: StaticString) -> Bool {
    let word = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard text.count >= word.count else { return false }
    return (text.startIndex...(text.endIndex - word.count)).contains { start in
      zip(text[start...], word).allSatisfy { ($0.0 >= 0x41 && $0.0 <= 0x5a ? $0.0 | 0x20 : $0.0) == $0.1 }
    }
  }
}
