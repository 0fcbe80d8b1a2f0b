/// The meaning of an answer from FCM and the next step, for the person who sent a push.
///
/// Source: Firebase, "FCM Error Codes". The hints are Carillon's own.
struct AnswerGuide: Sendable, Equatable {
  /// The meaning of the answer, as the end of a sentence that begins with "FCM answered".
  let meaning: String
  /// The next step.
  let hint: String

  init(_ meaning: String, _ hint: String) {
    self.meaning = meaning
    self.hint = hint
  }

  /// Explains an answer by its reason, or by its status if it has no reason that this version knows.
  init(status: UInt16, _ reason: FCMReason) {
    self = status / 100 == 2 ? Self.accepted : reason.guide ?? Self.byStatus(status)
  }

  private static let accepted = AnswerGuide(
    "accepted: FCM has the message and delivers it when it can reach the device",
    "if nothing appears, check the notification settings of the device, the channel and battery optimization")

  private static func byStatus(_ status: UInt16) -> AnswerGuide {
    switch status {
    case 401:
      AnswerGuide("refused: the access token is not accepted", "check serviceAccountFile and this machine's clock")
    case 403: AnswerGuide("refused: the account has no permission", "check the roles of the service account")
    case 404: AnswerGuide("refused: the project or the path does not exist", "check project and endpoint")
    case 429: AnswerGuide("refused: too many messages", "try again in a minute")
    case 400..<500:
      AnswerGuide(
        "refused, with a reason that this version does not know", "look up the reason in Firebase's documentation")
    case 500..<600: AnswerGuide("FCM has an internal problem", "try again in a minute")
    default: AnswerGuide("an answer that FCM does not document", "check for a proxy between this machine and FCM")
    }
  }
}

extension FCMReason {
  /// Meaning and hint of a reason; `nil` if only the status can explain the answer.
  var guide: AnswerGuide? {
    switch self {
    case .none, .other: nil
    case .invalidArgument:
      AnswerGuide(
        "the message is not valid, or not for this device", "read the message of the answer; run carillon lint")
    case .invalidToken:
      AnswerGuide("the token is malformed", "compare the token with what the app got: it may be cut or mistyped")
    case .messageTooLarge:
      AnswerGuide("the message is larger than 4096 bytes", "shorten it, or let the app fetch the rest")
    case .senderIDMismatch:
      AnswerGuide(
        "the token belongs to another Firebase project",
        "compare the project with google-services.json of the app that made the token")
    case .unregistered:
      AnswerGuide(
        "the app was removed from the device, or the token was replaced or has expired",
        "remove the token; the app gets a new one when it starts")
    case .projectQuotaExceeded:
      AnswerGuide("the project has used its quota of this minute", "try again in a minute; lower the rate of the app")
    case .targetQuotaExceeded:
      AnswerGuide("this device got too many messages in a short time", "wait a minute; other devices are not affected")
    case .unavailable: AnswerGuide("FCM is overloaded", "try again in a minute")
    case .internalError, .unspecifiedError: AnswerGuide("FCM had an internal error", "try again in a minute")
    case .thirdPartyAuthError:
      AnswerGuide(
        "the token belongs to an Apple device or a browser, and the project has no valid key for it",
        "check the APNs key and the web push certificate in the Firebase console")
    case .accessTokenExpired: AnswerGuide("the access token has expired", "send again; check this machine's clock")
    case .credentialsMissing:
      AnswerGuide("the request had no access token", "check for a proxy that removes headers")
    case .accessTokenTypeUnsupported, .unauthenticated:
      AnswerGuide("FCM does not accept the access token", "check serviceAccountFile and endpoint")
    case .permissionDenied, .iamPermissionDenied:
      AnswerGuide(
        "the service account may not send messages in the project",
        "give it the role “Firebase Cloud Messaging API Admin”; a new role takes some minutes")
    case .serviceDisabled:
      AnswerGuide(
        "the FCM API is not enabled in the project",
        "enable “Firebase Cloud Messaging API” in the Google Cloud console")
    case .notFound: AnswerGuide("the project or the path does not exist", "check project and endpoint")
    case .keyRefused:
      AnswerGuide("Google refuses the key of the service account", "make a new key, and check this machine's clock")
    case .tokenRefused:
      AnswerGuide("FCM refuses even a new access token", "check the service account, its roles and the project")
    }
  }
}
