public import PushCore

/// A reason that APNs gives with an error, as one byte. The raw values are stored in ledger records: never renumber.
///
/// Source: Apple, "Handling notification responses from APNs".
public enum Reason: UInt8, CaseIterable, Sendable {
  /// No reason: an acceptance, an empty body, or no answer at all.
  case none = 0
  case badCollapseId = 1
  case badDeviceToken = 2
  case badExpirationDate = 3
  case badMessageId = 4
  case badPriority = 5
  case badTopic = 6
  case deviceTokenNotForTopic = 7
  case duplicateHeaders = 8
  case idleTimeout = 9
  case invalidPushType = 10
  case missingDeviceToken = 11
  case missingTopic = 12
  case payloadEmpty = 13
  case topicDisallowed = 14
  case badCertificate = 15
  case badCertificateEnvironment = 16
  case expiredProviderToken = 17
  case forbidden = 18
  case invalidProviderToken = 19
  case missingProviderToken = 20
  case unrelatedKeyIdInToken = 21
  case badEnvironmentKeyIdInToken = 22
  case badPath = 23
  case methodNotAllowed = 24
  case expiredToken = 25
  case unregistered = 26
  case payloadTooLarge = 27
  case tooManyProviderTokenUpdates = 28
  case tooManyRequests = 29
  case internalServerError = 30
  case serviceUnavailable = 31
  case shutdown = 32
  // Of broadcasts and channel management; Apple, "Handling error responses from broadcast push notification requests".
  case featureNotEnabled = 33
  case missingChannelId = 34
  case badChannelId = 35
  case channelNotRegistered = 36
  case badRequestParams = 37
  case badRequestPayload = 38
  case missingPushType = 39
  case cannotCreateChannelConfig = 40
  case topicMismatch = 41
  /// A reason this table doesn't know; its text is kept beside the record.
  case other = 255

  /// As stored.
  public var code: ReasonCode { ReasonCode(rawValue: rawValue) }

  /// The reason that a code stands for; ``other`` for a code that this table doesn't know.
  public init(_ code: ReasonCode) { self = Reason(rawValue: code.rawValue) ?? .other }

  /// Apple's spelling; empty for ``none``, and for ``other``, whose text is kept beside the record.
  public var name: String { Self.names[Int(rawValue)] }

  /// By raw value. Made once: asking a case for its own name costs as much as a push.
  private static let names: [String] = (0...UInt8.max).map { value in
    switch Reason(rawValue: value) {
    case nil, .none?, .other?: ""
    case .badEnvironmentKeyIdInToken?: "BadEnvironmentKeyIdInToken"
    case let reason?:
      // Apple's spelling is the case's own with a capital: `badDeviceToken` is `BadDeviceToken`.
      "\(reason)".prefix(1).uppercased() + "\(reason)".dropFirst()
    }
  }
}
