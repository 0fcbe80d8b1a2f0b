/// The meaning of an answer from APNs and the next step, for the person who sent a push.
///
/// Source: Apple, "Handling notification responses from APNs" and "Handling error responses from broadcast push
/// notification requests". The hints are Carillon's own.
public struct ReasonGuide: Sendable, Equatable {
  /// The meaning of the answer, as the end of a sentence that begins with "APNs answered".
  public let meaning: String
  /// The next step.
  public let hint: String

  init(_ meaning: String, _ hint: String) {
    self.meaning = meaning
    self.hint = hint
  }

  /// Explains an answer by its reason, or by its status if it has no reason that this version knows.
  public init(status: UInt16, reason: Reason) {
    self = reason.guide ?? Self.byStatus(status)
  }

  private static func byStatus(_ status: UInt16) -> ReasonGuide {
    switch status {
    case 200:
      ReasonGuide(
        "accepted: APNs has the push and delivers it when it can reach the device",
        "if nothing appears on the device, check focus modes, notification settings, and whether the app is in the foreground"
      )
    case 400..<500:
      ReasonGuide(
        "refused, with a reason that this version does not know", "look up the reason in Apple's documentation")
    case 500..<600: ReasonGuide("APNs has an internal problem", "try again in 15 minutes")
    default: ReasonGuide("an answer that APNs does not document", "check for a proxy between this machine and APNs")
    }
  }
}

extension Reason {
  /// Meaning and hint of a reason; `nil` if only the status can explain the answer.
  var guide: ReasonGuide? {
    switch self {
    case .none, .other: nil

    // The request.
    case .badCollapseId: ReasonGuide("the collapse id is longer than 64 bytes", "shorten the collapse id")
    case .badExpirationDate:
      ReasonGuide("the expiration is not a UNIX time", "set expiration to 0, to a duration or to a time")
    case .badMessageId: ReasonGuide("the apns-id is not a UUID", "report this as a bug: Carillon creates the id")
    case .badPriority:
      ReasonGuide("this push type does not allow the priority", "use 10, 5 or 1; background pushes need 5")
    case .badTopic: ReasonGuide("the topic is malformed or wrong for the push type", "check topic and --push-type")
    case .duplicateHeaders:
      ReasonGuide(
        "a header was sent twice", "check for a proxy between this machine and APNs; if there is none, report this")
    case .invalidPushType: ReasonGuide("APNs does not know the push type", "check --push-type")
    case .missingDeviceToken:
      ReasonGuide("the path has no device token", "report this as a bug: Carillon creates the path")
    case .missingTopic: ReasonGuide("the topic is missing", "set the app's topic in the configuration")
    case .payloadEmpty: ReasonGuide("the payload is empty", "add a payload: {\"aps\":{\"alert\":\"Hello\"}}")
    case .payloadTooLarge:
      ReasonGuide("the payload is larger than 4096 bytes (voip: 5120)", "shorten it, or let the app fetch the rest")
    case .badPath: ReasonGuide("the path is not a path of APNs", "check the app's endpoint")
    case .methodNotAllowed:
      ReasonGuide(
        "the method was not POST", "check for a proxy between this machine and APNs; if there is none, report this")

    // The device.
    case .badDeviceToken:
      ReasonGuide(
        "APNs does not know the token: it is mistyped, or belongs to the other environment",
        "check the app's environment: debug builds have sandbox tokens, TestFlight and the App Store production tokens")
    case .deviceTokenNotForTopic:
      ReasonGuide(
        "the token belongs to another app, or to another kind of push of this app",
        "compare the topic with the bundle id of the app that made the token")
    case .unregistered:
      ReasonGuide(
        "the app was removed from the device, or the token was replaced", "remove the token: it stays invalid")
    case .expiredToken: ReasonGuide("the token has expired", "remove the token; the app gets a new one when it starts")
    case .tooManyRequests:
      ReasonGuide(
        "this device got too many pushes in a short time", "wait some seconds; other devices are not affected")

    // The credential.
    case .topicDisallowed:
      ReasonGuide("the key may not push to this topic", "check the app's topic and the apps that the key covers")
    case .badCertificate:
      ReasonGuide("the certificate is not valid for this app", "renew the certificate, or use a signing key")
    case .badCertificateEnvironment:
      ReasonGuide("the certificate is for the other environment", "check the app's environment")
    case .expiredProviderToken:
      ReasonGuide("the provider token is older than an hour", "check this machine's clock")
    case .forbidden:
      ReasonGuide("the key lacks the permission", "check the key's permissions at developer.apple.com")
    case .invalidProviderToken:
      ReasonGuide(
        "APNs does not accept the provider token", "check keyID, teamID and keyFile: all three must belong to one key")
    case .missingProviderToken:
      ReasonGuide("APNs saw no provider token", "check for a proxy that removes headers")
    case .unrelatedKeyIdInToken:
      ReasonGuide("the connection was used with another key before", "send again: Carillon opens a new connection")
    case .badEnvironmentKeyIdInToken:
      ReasonGuide("the key is for the other environment", "check the app's environment, or create a key for both")
    case .tooManyProviderTokenUpdates:
      ReasonGuide(
        "the provider token changed more than once in 20 minutes",
        "wait 20 minutes; look for other senders with this key")

    // Broadcasts and channels.
    case .featureNotEnabled:
      ReasonGuide(
        "broadcasts are not enabled for the app", "enable the broadcast capability of the app id at developer.apple.com"
      )
    case .missingChannelId:
      ReasonGuide("the channel id is missing", "report this as a bug: Carillon sends the id")
    case .badChannelId:
      ReasonGuide("the channel id is not Base64, or too long", "copy the id from `carillon channel list`")
    case .channelNotRegistered:
      ReasonGuide(
        "this environment has no such channel",
        "list the channels with `carillon channel list`; ids of sandbox and production differ")
    case .badRequestParams, .badRequestPayload:
      ReasonGuide(
        "APNs does not accept the settings of the channel", "report this as a bug: Carillon creates the request")
    case .missingPushType:
      ReasonGuide("a broadcast needs a push type", "report this as a bug: Carillon sends the push type")
    case .cannotCreateChannelConfig:
      ReasonGuide("the app has 10,000 channels, which is Apple's limit", "delete channels that the app no longer uses")
    case .topicMismatch:
      ReasonGuide(
        "the credential is not for this bundle id", "check the app's topic and the apps that the key covers")

    // The server or the connection.
    case .idleTimeout: ReasonGuide("the connection was idle for too long", "send again")
    case .internalServerError: ReasonGuide("APNs had an internal error", "try again in 15 minutes")
    case .serviceUnavailable: ReasonGuide("APNs is down or overloaded", "try again in 15 minutes")
    case .shutdown: ReasonGuide("this server of APNs is shutting down", "send again: another server takes the push")
    }
  }
}
