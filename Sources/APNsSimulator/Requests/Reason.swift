/// The reason of a rejection. The simulator shares no table with the sender, so that a typo in the sender's table is
/// detected.
///
/// Sources: the response table of Apple's "Handling notification responses from APNs" and, for broadcasts and channels,
/// the table of "Handling error responses from APNs".
enum Reason: UInt8, CaseIterable {
  case badCollapseID, badDeviceToken, badExpirationDate, badMessageID, badPriority, badTopic
  case deviceTokenNotForTopic, duplicateHeaders, idleTimeout, invalidPushType, missingDeviceToken, missingTopic
  case payloadEmpty, topicDisallowed
  case badCertificate, badCertificateEnvironment, badEnvironmentKeyID, expiredProviderToken, invalidProviderToken
  case missingProviderToken, unrelatedKeyID
  case badPath, methodNotAllowed
  case expiredToken, unregistered
  case payloadTooLarge
  case tooManyProviderTokenUpdates, tooManyRequests
  case internalServerError
  // Broadcasts and channels only.
  case badChannelID, badRequestParams, badRequestPayload, cannotCreateChannelConfig, channelNotRegistered
  case featureNotEnabled, missingChannelID, missingPushType
  case topicMismatch

  /// The value of `:status`.
  var status: StaticString {
    switch self {
    case .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badTopic,
      .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType, .missingDeviceToken, .missingTopic,
      .payloadEmpty, .topicDisallowed:
      "400"
    case .badChannelID, .badRequestParams, .badRequestPayload, .cannotCreateChannelConfig, .channelNotRegistered,
      .featureNotEnabled, .missingChannelID, .missingPushType:
      "400"
    case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyID, .expiredProviderToken,
      .invalidProviderToken, .missingProviderToken, .topicMismatch, .unrelatedKeyID:
      "403"
    case .badPath: "404"
    case .methodNotAllowed: "405"
    case .expiredToken, .unregistered: "410"
    case .payloadTooLarge: "413"
    case .tooManyProviderTokenUpdates, .tooManyRequests: "429"
    case .internalServerError: "500"
    }
  }

  /// The word in the body.
  var name: String {
    switch self {
    case .badCollapseID: "BadCollapseId"
    case .badDeviceToken: "BadDeviceToken"
    case .badExpirationDate: "BadExpirationDate"
    case .badMessageID: "BadMessageId"
    case .badPriority: "BadPriority"
    case .badTopic: "BadTopic"
    case .deviceTokenNotForTopic: "DeviceTokenNotForTopic"
    case .duplicateHeaders: "DuplicateHeaders"
    case .idleTimeout: "IdleTimeout"
    case .invalidPushType: "InvalidPushType"
    case .missingDeviceToken: "MissingDeviceToken"
    case .missingTopic: "MissingTopic"
    case .payloadEmpty: "PayloadEmpty"
    case .topicDisallowed: "TopicDisallowed"
    case .badCertificate: "BadCertificate"
    case .badCertificateEnvironment: "BadCertificateEnvironment"
    case .badEnvironmentKeyID: "BadEnvironmentKeyIdInToken"
    case .expiredProviderToken: "ExpiredProviderToken"
    case .invalidProviderToken: "InvalidProviderToken"
    case .missingProviderToken: "MissingProviderToken"
    case .unrelatedKeyID: "UnrelatedKeyIdInToken"
    case .badPath: "BadPath"
    case .methodNotAllowed: "MethodNotAllowed"
    case .expiredToken: "ExpiredToken"
    case .unregistered: "Unregistered"
    case .payloadTooLarge: "PayloadTooLarge"
    case .tooManyProviderTokenUpdates: "TooManyProviderTokenUpdates"
    case .tooManyRequests: "TooManyRequests"
    case .internalServerError: "InternalServerError"
    case .badChannelID: "BadChannelId"
    case .badRequestParams: "BadRequestParams"
    case .badRequestPayload: "BadRequestPayload"
    case .cannotCreateChannelConfig: "CannotCreateChannelConfig"
    case .channelNotRegistered: "ChannelNotRegistered"
    case .featureNotEnabled: "FeatureNotEnabled"
    case .missingChannelID: "MissingChannelId"
    case .missingPushType: "MissingPushType"
    case .topicMismatch: "TopicMismatch"
    }
  }

  /// Whether the body contains a timestamp (only with 410).
  var hasTimestamp: Bool { self == .expiredToken || self == .unregistered }
}
