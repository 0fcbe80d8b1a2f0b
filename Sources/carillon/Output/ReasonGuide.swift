import APNs
import PushCore

/// What an answer of APNs means to whoever sent one push, and what to do about it.
struct ReasonGuide {
  let meaning: String
  let advice: String

  private init(_ meaning: String, _ advice: String) {
    self.meaning = meaning
    self.advice = advice
  }

  init(status: UInt16, reason: Reason) {
    self = Self.known(reason) ?? Self.byStatus(status)
  }

  private static func byStatus(_ status: UInt16) -> ReasonGuide {
    switch status {
    case 200:
      ReasonGuide(
        "accepted: APNs has the push and delivers it when it can reach the device",
        "nothing on the device? Look at focus modes, notification settings, and whether the app is in the foreground")
    case 400..<500:
      ReasonGuide("refused, for a reason this version doesn't know", "look the reason up in Apple's documentation")
    case 500..<600: ReasonGuide("APNs has trouble of its own", "try again in 15 minutes")
    default: ReasonGuide("an answer that APNs doesn't document", "is there a proxy on the way?")
    }
  }

  /// Source: Apple, "Handling notification responses from APNs"; what to do is ours.
  private static func known(_ reason: Reason) -> ReasonGuide? {
    request(reason) ?? device(reason) ?? credential(reason) ?? channel(reason) ?? server(reason)
  }

  private static func request(_ reason: Reason) -> ReasonGuide? {
    switch reason {
    case .badCollapseId: ReasonGuide("the collapse id is longer than 64 bytes", "shorten it")
    case .badExpirationDate: ReasonGuide("the expiration is no UNIX time", "give 0, a duration or an instant")
    case .badMessageId: ReasonGuide("the apns-id is no UUID", "report this: we made it")
    case .badPriority:
      ReasonGuide("the priority is not allowed for this push type", "use 10, 5 or 1, and 5 for background")
    case .badTopic: ReasonGuide("the topic is malformed, or wrong for the push type", "check topic and --push-type")
    case .duplicateHeaders: ReasonGuide("a header came twice", "is there a proxy on the way? If not, report this")
    case .invalidPushType: ReasonGuide("APNs doesn't know the push type", "check --push-type")
    case .missingDeviceToken: ReasonGuide("the path has no device token", "report this: we made it")
    case .missingTopic: ReasonGuide("the topic is missing", "set the app's topic in the configuration")
    case .payloadEmpty: ReasonGuide("the payload is empty", "give one: {\"aps\":{\"alert\":\"Hello\"}}")
    case .payloadTooLarge:
      ReasonGuide("the payload is larger than 4096 bytes (voip: 5120)", "shorten it, or let the app fetch the rest")
    case .badPath: ReasonGuide("the path is not one of APNs'", "check the app's endpoint")
    case .methodNotAllowed: ReasonGuide("the method was not POST", "is there a proxy on the way? If not, report this")
    default: nil
    }
  }

  private static func device(_ reason: Reason) -> ReasonGuide? {
    switch reason {
    case .badDeviceToken:
      ReasonGuide(
        "APNs doesn't know the token: it is mistyped, or of the other environment",
        "tokens of debug builds are sandbox, of TestFlight and the App Store production: check the app's environment")
    case .deviceTokenNotForTopic:
      ReasonGuide(
        "the token belongs to another app, or to another kind of push of this one",
        "compare the topic with the bundle id of the app that made the token")
    case .unregistered:
      ReasonGuide(
        "the app is gone from the device, or the token was replaced", "remove the token: it will never work again")
    case .expiredToken: ReasonGuide("the token has expired", "remove it; the app gets a new one when it starts")
    case .tooManyRequests:
      ReasonGuide("too many pushes to this device in a short time", "wait some seconds; it concerns this device only")
    default: nil
    }
  }

  private static func credential(_ reason: Reason) -> ReasonGuide? {
    switch reason {
    case .topicDisallowed:
      ReasonGuide("the key may not push to this topic", "check the app's topic, and which apps the key is for")
    case .badCertificate: ReasonGuide("the certificate is not valid for this app", "renew it, or use a signing key")
    case .badCertificateEnvironment:
      ReasonGuide("the certificate is for the other environment", "check the app's environment")
    case .expiredProviderToken:
      ReasonGuide("the provider token is older than an hour", "check this machine's clock")
    case .forbidden: ReasonGuide("the key may not do this", "check at developer.apple.com what the key is for")
    case .invalidProviderToken:
      ReasonGuide(
        "APNs doesn't accept the provider token", "check keyID, teamID and keyFile: all three must be of one key")
    case .missingProviderToken:
      ReasonGuide("APNs saw no provider token", "is there a proxy on the way that drops headers?")
    case .unrelatedKeyIdInToken:
      ReasonGuide("the connection was used with another key before", "send again: it gets a connection of its own")
    case .badEnvironmentKeyIdInToken:
      ReasonGuide("the key is for the other environment", "check the app's environment, or make a key for both")
    case .tooManyProviderTokenUpdates:
      ReasonGuide("the provider token changed more than once in 20 minutes", "wait 20 minutes; check for other senders")
    default: nil
    }
  }

  private static func channel(_ reason: Reason) -> ReasonGuide? {
    switch reason {
    case .featureNotEnabled:
      ReasonGuide(
        "broadcasts are not enabled for the app", "enable the broadcast capability of the app id at developer.apple.com"
      )
    case .missingChannelId: ReasonGuide("the channel id is missing", "report this: we send it")
    case .badChannelId:
      ReasonGuide("the channel id is not Base64, or too long", "take it as `carillon channel list` prints it")
    case .channelNotRegistered:
      ReasonGuide(
        "there is no such channel in this environment",
        "`carillon channel list` shows those there are; ids of sandbox and production differ")
    case .badRequestParams, .badRequestPayload:
      ReasonGuide("APNs doesn't understand what the channel is to be", "report this: we made it")
    case .missingPushType: ReasonGuide("a broadcast needs a push type", "report this: we send it")
    case .cannotCreateChannelConfig:
      ReasonGuide("the app has 10,000 channels, the most there can be", "delete channels that are not used any more")
    case .topicMismatch:
      ReasonGuide("the credential is not for this bundle id", "check the app's topic, and which apps the key is for")
    default: nil
    }
  }

  private static func server(_ reason: Reason) -> ReasonGuide? {
    switch reason {
    case .idleTimeout: ReasonGuide("the connection was idle for too long", "send again")
    case .internalServerError: ReasonGuide("an error within APNs", "try again in 15 minutes")
    case .serviceUnavailable: ReasonGuide("APNs is down or overloaded", "try again in 15 minutes")
    case .shutdown: ReasonGuide("this server of APNs is about to stop", "send again: another takes it")
    default: nil
    }
  }
}
