public import PushCore

/// A reason that APNs returns with an error, as one byte. Ledger records contain the raw values: never renumber them.
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
  // Broadcasts and channel management; Apple, "Handling error responses from broadcast push notification requests".
  case featureNotEnabled = 33
  case missingChannelId = 34
  case badChannelId = 35
  case channelNotRegistered = 36
  case badRequestParams = 37
  case badRequestPayload = 38
  case missingPushType = 39
  case cannotCreateChannelConfig = 40
  case topicMismatch = 41
  /// A reason that this version of Carillon does not know. The store keeps its text next to the ledger record.
  case other = 255

  /// The code that ledger records contain.
  public var code: ReasonCode { ReasonCode(rawValue: rawValue) }

  /// Creates the reason of a code; ``other`` for an unknown code.
  public init(_ code: ReasonCode) { self = Reason(rawValue: code.rawValue) ?? .other }

  /// Apple's spelling. Empty for ``none``, and for ``other``, whose text is stored next to the ledger record.
  public var name: String { Self.names[Int(rawValue)] }

  /// Names by raw value. They are computed only once, because Swift needs as much time for the name of a case as
  /// Carillon needs for a push.
  private static let names: [String] = (0...UInt8.max).map { value in
    switch Reason(rawValue: value) {
    case nil, .none?, .other?: ""
    case .badEnvironmentKeyIdInToken?: "BadEnvironmentKeyIdInToken"
    case let reason?:
      // Apple's spelling is the name of the case with a capital letter: `badDeviceToken` is `BadDeviceToken`.
      "\(reason)".prefix(1).uppercased() + "\(reason)".dropFirst()
    }
  }
}
