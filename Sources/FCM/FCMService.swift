public import PushCore

/// Firebase Cloud Messaging (FCM), HTTP v1 API. Tokens are the ASCII bytes of a registration token or a Firebase
/// installation ID; reasons are the names of ``FCMReason``.
public struct FCMService: PushService {
  private static let reasons = (0...UInt8.max).map { Array((FCMReason(rawValue: $0)?.name ?? "").utf8) }

  /// Id of the Firebase project; `nil` if it is not known. Without a project, nothing can be sent.
  public var project: String?

  /// - Parameter project: the id of the Firebase project; `nil` if it is not known.
  public init(project: String? = nil) { self.project = project }

  public var name: String { "fcm" }
  public var title: String { "FCM" }
  public var connectionPolicy: ConnectionPolicy { FCMPolicies.connections }
  public var retryBounds: RetryBounds { FCMPolicies.retries }
  public var quota: ServiceQuota? { project.map(FCMPolicies.quota) }
  public var tokenForm: String {
    "a registration token (with a colon) or a Firebase installation ID (22 characters, the first of c d e f)"
  }

  /// Reads a registration token or a Firebase installation ID. Ignores white space at both ends.
  public func token(_ text: String) -> DeviceToken? {
    let text = Identifier.trimmed(text)
    return TokenForm(text.utf8) == nil ? nil : DeviceToken(bytes: text.utf8)
  }

  /// Writes the token unchanged: its bytes are its text.
  public func writeText(of token: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer) -> Int {
    buffer.copyMemory(from: token)
    return token.count
  }

  public func reasonText(of code: ReasonCode) -> [UInt8] { Self.reasons[Int(code.rawValue)] }

  /// Returns a problem for every kind of token except `alert`, and for the sandbox: FCM has no other tokens and no
  /// sandbox.
  public func problem(ofKind kind: TokenKind, _ environment: PushEnvironment?) -> String? {
    if kind != .alert { return "kind: FCM has one token for all messages; omit kind" }
    if environment == .sandbox { return "environment: FCM has no sandbox; omit environment" }
    return nil
  }

  /// Returns ``PushCore/TokenKind/alert``: an app instance has one token for all messages.
  public func tokenKind(for campaign: Campaign) -> TokenKind { .alert }
}
