public import PushCore

/// Reason of a refusal by FCM, as one byte. Ledger records contain the raw values: never renumber them, and only add
/// new ones.
///
/// A reason has FCM's own name, unless FCM uses that name for several causes. For example, FCM uses `INVALID_ARGUMENT`
/// for a wrong token and for a wrong message, so Carillon has its own name for a wrong token.
///
/// Source: Firebase, "FCM Error Codes" (`google.firebase.fcm.v1.ErrorCode`); Google, `google.rpc.Code` and
/// `google.api.ErrorReason`.
public enum FCMReason: UInt8, CaseIterable, Sendable {
  /// No reason: an acceptance, an answer without JSON, or no answer at all.
  case none = 0
  /// The content or the size of the message is wrong.
  case invalidArgument = 1
  /// The token is malformed.
  case invalidToken = 2
  /// The message is larger than 4,096 bytes.
  case messageTooLarge = 3
  /// The token belongs to another Firebase project.
  case senderIDMismatch = 4
  /// The token does not belong to a registered app instance, for example because the app was uninstalled.
  case unregistered = 5
  /// The project has used its quota of the present minute, or FCM is overloaded.
  case projectQuotaExceeded = 6
  /// One device or one topic gets too many messages.
  case targetQuotaExceeded = 7
  case unavailable = 8
  case internalError = 9
  case unspecifiedError = 10
  /// The app's APNs key or web push key in the Firebase project is missing or wrong.
  case thirdPartyAuthError = 11
  case accessTokenExpired = 12
  case credentialsMissing = 13
  case accessTokenTypeUnsupported = 14
  case unauthenticated = 15
  case permissionDenied = 16
  case iamPermissionDenied = 17
  /// The FCM API is not enabled in the project.
  case serviceDisabled = 18
  /// The project or the path does not exist.
  case notFound = 19
  // Reasons that stop the credential. FCM never answers a push with them.
  /// The token endpoint refuses the key of the service account.
  case keyRefused = 60
  /// FCM refuses even a new access token.
  case tokenRefused = 61
  /// A reason that this version of Carillon does not know. The store keeps its text next to the ledger record.
  case other = 255

  /// The code that ledger records contain.
  public var code: ReasonCode { ReasonCode(rawValue: rawValue) }

  /// Creates the reason of a code; ``other`` for an unknown code.
  public init(_ code: ReasonCode) { self = FCMReason(rawValue: code.rawValue) ?? .other }

  /// Name in results and error messages. Empty for ``none``, and for ``other``, whose text is stored next to the ledger
  /// record.
  public var name: String {
    switch self {
    case .none, .other: ""
    case .invalidArgument: "INVALID_ARGUMENT"
    case .invalidToken: "INVALID_TOKEN"
    case .messageTooLarge: "MESSAGE_TOO_LARGE"
    case .senderIDMismatch: "SENDER_ID_MISMATCH"
    case .unregistered: "UNREGISTERED"
    case .projectQuotaExceeded: "PROJECT_QUOTA_EXCEEDED"
    case .targetQuotaExceeded: "TARGET_QUOTA_EXCEEDED"
    case .unavailable: "UNAVAILABLE"
    case .internalError: "INTERNAL"
    case .unspecifiedError: "UNSPECIFIED_ERROR"
    case .thirdPartyAuthError: "THIRD_PARTY_AUTH_ERROR"
    case .accessTokenExpired: "ACCESS_TOKEN_EXPIRED"
    case .credentialsMissing: "CREDENTIALS_MISSING"
    case .accessTokenTypeUnsupported: "ACCESS_TOKEN_TYPE_UNSUPPORTED"
    case .unauthenticated: "UNAUTHENTICATED"
    case .permissionDenied: "PERMISSION_DENIED"
    case .iamPermissionDenied: "IAM_PERMISSION_DENIED"
    case .serviceDisabled: "SERVICE_DISABLED"
    case .notFound: "NOT_FOUND"
    case .keyRefused: "SERVICE_ACCOUNT_KEY_REFUSED"
    case .tokenRefused: "ACCESS_TOKEN_REFUSED"
    }
  }

  /// Creates the reason for a word of FCM: an `errorCode`, an `ErrorInfo.reason` or a `status`. The result is
  /// ``other`` for an unknown word.
  ///
  /// The table is short, so a linear search is faster than hashing. Refusals are only a few percent of all answers.
  init(word: some Collection<UInt8>) {
    for entry in Self.words where entry.bytes.count == word.count && entry.bytes.elementsEqual(word) {
      self = entry.reason
      return
    }
    self = .other
  }

  private static let words: [(bytes: [UInt8], reason: FCMReason)] =
    allCases.filter { !$0.name.isEmpty && !ownNames.contains($0) }.map { (Array($0.name.utf8), $0) } + [
      (Array("QUOTA_EXCEEDED".utf8), .projectQuotaExceeded),
      (Array("RATE_LIMIT_EXCEEDED".utf8), .projectQuotaExceeded),
      (Array("RESOURCE_EXHAUSTED".utf8), .projectQuotaExceeded),
      // The spelling before 2019.
      (Array("APNS_AUTH_ERROR".utf8), .thirdPartyAuthError),
    ]

  /// Reasons whose names FCM never sends.
  private static let ownNames: [FCMReason] = [
    .invalidToken, .messageTooLarge, .projectQuotaExceeded, .targetQuotaExceeded, .keyRefused, .tokenRefused,
  ]
}
