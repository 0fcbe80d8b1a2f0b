/// Why a push is rejected: the simulator's own table, so that a typo in the sender's cannot hide behind it.
///
/// Source: the response table of Apple's "Handling notification responses from APNs".
enum Reason: UInt8, CaseIterable {
  case badCollapseID, badDeviceToken, badExpirationDate, badMessageID, badPriority, badTopic
  case deviceTokenNotForTopic, duplicateHeaders, invalidPushType, missingDeviceToken, missingTopic, payloadEmpty
  case topicDisallowed
  case expiredProviderToken, invalidProviderToken, missingProviderToken, unrelatedKeyID
  case badPath, methodNotAllowed
  case expiredToken, unregistered
  case payloadTooLarge
  case internalServerError

  /// The value of `:status`.
  var status: StaticString {
    switch self {
    case .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badTopic,
      .deviceTokenNotForTopic, .duplicateHeaders, .invalidPushType, .missingDeviceToken, .missingTopic, .payloadEmpty,
      .topicDisallowed:
      "400"
    case .expiredProviderToken, .invalidProviderToken, .missingProviderToken, .unrelatedKeyID: "403"
    case .badPath: "404"
    case .methodNotAllowed: "405"
    case .expiredToken, .unregistered: "410"
    case .payloadTooLarge: "413"
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
    case .invalidPushType: "InvalidPushType"
    case .missingDeviceToken: "MissingDeviceToken"
    case .missingTopic: "MissingTopic"
    case .payloadEmpty: "PayloadEmpty"
    case .topicDisallowed: "TopicDisallowed"
    case .expiredProviderToken: "ExpiredProviderToken"
    case .invalidProviderToken: "InvalidProviderToken"
    case .missingProviderToken: "MissingProviderToken"
    case .unrelatedKeyID: "UnrelatedKeyIdInToken"
    case .badPath: "BadPath"
    case .methodNotAllowed: "MethodNotAllowed"
    case .expiredToken: "ExpiredToken"
    case .unregistered: "Unregistered"
    case .payloadTooLarge: "PayloadTooLarge"
    case .internalServerError: "InternalServerError"
    }
  }

  /// Whether the body says since when (only 410 does).
  var hasTimestamp: Bool { self == .expiredToken || self == .unregistered }

  /// The body, encoded once for the life of the process.
  var body: [UInt8] { Self.bodies[Int(rawValue)] }

  private static let bodies = allCases.map { Array("{\"reason\":\"\($0.name)\"}".utf8) }
}
