import FCM
import PushCore

/// An answer of FCM and its consequences, independent of the code: a row for each row of section 6.1 of the reference,
/// with the bodies of section 6.2.
struct AnswerRow: Sendable, CustomStringConvertible {
  var description: String
  var status: UInt16
  var body: String
  var retryAfter: UInt16 = 0
  var reason: FCMReason
  var target: Disposition.Target
  var token = Disposition.TokenAction.keep
  var effect = Disposition.Effect.none
  /// Whether a retry uses one of the attempts.
  var countsAttempt = true

  init(
    _ description: String, _ status: UInt16, _ body: String, retryAfter: UInt16 = 0, _ reason: FCMReason,
    _ target: Disposition.Target, token: Disposition.TokenAction = .keep, effect: Disposition.Effect = .none,
    countsAttempt: Bool = true
  ) {
    (self.description, self.status, self.body) = (description, status, body)
    (self.retryAfter, self.reason, self.target, self.token) = (retryAfter, reason, target, token)
    (self.effect, self.countsAttempt) = (effect, countsAttempt)
  }
}

enum AnswerTable {
  static func fcm(_ code: String) -> String {
    #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
  }

  static func info(_ reason: String) -> String {
    """
    {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "\(reason)",
            "domain": "googleapis.com",
            "metadata": {"quota_limit_value": "600000", "service": "fcm.googleapis.com"}
          }
    """
  }

  static func field(_ name: String, _ text: String = "") -> String {
    #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":["#
      + #"{"field":"\#(name)","description":"\#(text)"}]}"#
  }

  static let apns =
    #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.ApnsError","statusCode":410,"reason":"Unregistered"}"#

  static func error(_ code: Int, _ status: String, _ message: String, _ details: String...) -> String {
    """
    {
      "error": {
        "code": \(code),
        "message": "\(message)",
        "status": "\(status)"\(details.isEmpty ? "" : ",\n    \"details\": [\(details.joined(separator: ", "))]")
      }
    }

    """
  }

  private static let accepted = """
    {
      "name": "projects/demo/messages/1717673451795380"
    }
    """
  private static let invalid = "Request contains an invalid argument."
  private static let wrongToken = "The registration token is not a valid FCM registration token"
  private static let page =
    "<!DOCTYPE html><html><title>Error 502 (Server Error)!!1</title><p>Please try again in 30 seconds.</html>"
  private static let disabled =
    "Firebase Cloud Messaging API has not been used in project 1 before or it is disabled. Enable it then retry."

  private static func held(_ reason: FCMReason) -> Disposition.Effect { .stopCredential(reason.code) }

  /// The effect of a quota whose limit the answer does not contain.
  private static let slow = Disposition.Effect.slowQuota(perMinute: nil)
  private static func after(_ seconds: Int) -> Disposition.Target { .retry(afterMilliseconds: seconds * 1000) }

  static let rows: [AnswerRow] = [
    AnswerRow("200", 200, accepted, .none, .finish(.accepted)),
    AnswerRow("200 without a body", 200, "", .none, .finish(.accepted)),
    AnswerRow("200 with a cut body", 200, #"{"name": "proj"#, .none, .finish(.accepted)),

    AnswerRow(
      "400 token",
      400, error(400, "INVALID_ARGUMENT", wrongToken, fcm("INVALID_ARGUMENT"), field("message.token", wrongToken)),
      .invalidToken, .finish(.badToken), token: .quarantine),
    AnswerRow(
      "400 token, details in the other order",
      400, error(400, "INVALID_ARGUMENT", invalid, field("message.token"), fcm("INVALID_ARGUMENT")),
      .invalidToken, .finish(.badToken), token: .quarantine),
    AnswerRow(
      "400 token, older answer", 400,
      error(
        400, "INVALID_ARGUMENT", invalid, fcm("INVALID_ARGUMENT"), field("message.token", "Invalid registration token")),
      .invalidToken, .finish(.badToken), token: .quarantine),
    AnswerRow(
      "400 installation ID", 400,
      error(400, "INVALID_ARGUMENT", invalid, fcm("INVALID_ARGUMENT"), field("message.fid")),
      .invalidToken, .finish(.badToken), token: .quarantine),
    AnswerRow(
      "400 token by its message alone", 400, error(400, "INVALID_ARGUMENT", wrongToken, fcm("INVALID_ARGUMENT")),
      .invalidToken, .finish(.badToken), token: .quarantine),
    AnswerRow(
      "400 token named without FcmError", 400, error(400, "INVALID_ARGUMENT", wrongToken, field("message.token")),
      .invalidArgument, .finish(.rejected)),
    AnswerRow(
      "400 with FcmError only", 400, error(400, "INVALID_ARGUMENT", invalid, fcm("INVALID_ARGUMENT")),
      .invalidArgument, .finish(.rejected)),
    AnswerRow(
      "400 no target", 400,
      error(
        400, "INVALID_ARGUMENT", "Recipient of the message is not set.", field("message"), fcm("INVALID_ARGUMENT")),
      .invalidArgument, .finish(.rejected)),
    AnswerRow(
      "400 condition", 400, error(400, "INVALID_ARGUMENT", invalid), .invalidArgument, .finish(.rejected)),
    AnswerRow(
      "400 too large", 400,
      error(
        400, "INVALID_ARGUMENT", "Message is too large. The maximum is 4K (4096 bytes).",
        #"{"@type": "type.googleapis.com/google.rpc.BadRequest"}"#, fcm("INVALID_ARGUMENT")),
      .messageTooLarge, .finish(.rejected)),
    AnswerRow(
      "400 too big", 400, error(400, "INVALID_ARGUMENT", "Android message is too big"), .messageTooLarge,
      .finish(.rejected)),
    AnswerRow(
      "400 unknown field", 400,
      error(
        400, "INVALID_ARGUMENT",
        #"Invalid JSON payload received. Unknown name \"toen\" at 'message': Cannot find field."#, field("message")),
      .invalidArgument, .finish(.rejected)),
    AnswerRow(
      "400 wrong type", 400,
      error(
        400, "INVALID_ARGUMENT", "Invalid value at 'message.data[0].value' (TYPE_STRING), 12",
        field("message.data[0].value")),
      .invalidArgument, .finish(.rejected)),
    AnswerRow("400 without a body", 400, "", .none, .finish(.rejected)),

    AnswerRow(
      "401 without a token", 401, error(401, "UNAUTHENTICATED", "Request is missing …", info("CREDENTIALS_MISSING")),
      .credentialsMissing, .resendNow, countsAttempt: false),
    AnswerRow(
      "401 with an invalid token", 401, error(401, "UNAUTHENTICATED", "Request had invalid …"), .unauthenticated,
      .resendNow, countsAttempt: false),
    AnswerRow(
      "401 of another type", 401, error(401, "UNAUTHENTICATED", "", info("ACCESS_TOKEN_TYPE_UNSUPPORTED")),
      .accessTokenTypeUnsupported, .resendNow, countsAttempt: false),
    AnswerRow(
      "401 expired", 401, error(401, "UNAUTHENTICATED", "", info("ACCESS_TOKEN_EXPIRED")), .accessTokenExpired,
      .resendNow, countsAttempt: false),
    AnswerRow("401 without a body", 401, "", .none, .resendNow, countsAttempt: false),
    AnswerRow(
      "401 of APNs", 401,
      error(401, "UNAUTHENTICATED", "Auth error from APNS or Web Push Service", fcm("THIRD_PARTY_AUTH_ERROR"), apns),
      .thirdPartyAuthError, .finish(.rejected)),
    AnswerRow(
      "401 of APNs, old word", 401, error(401, "UNAUTHENTICATED", "", fcm("APNS_AUTH_ERROR")), .thirdPartyAuthError,
      .finish(.rejected)),

    AnswerRow(
      "403 sender", 403, error(403, "PERMISSION_DENIED", "SenderId mismatch", fcm("SENDER_ID_MISMATCH")),
      .senderIDMismatch, .finish(.badToken), token: .quarantine),
    AnswerRow(
      "403 permission", 403, error(403, "PERMISSION_DENIED", "Permission denied", info("IAM_PERMISSION_DENIED")),
      .iamPermissionDenied, after(2), effect: held(.iamPermissionDenied), countsAttempt: false),
    AnswerRow(
      "403 bare", 403, error(403, "PERMISSION_DENIED", "The caller does not have permission"), .permissionDenied,
      after(2), effect: held(.permissionDenied), countsAttempt: false),
    AnswerRow(
      "403 disabled", 403,
      error(
        403, "PERMISSION_DENIED", disabled,
        #"{"@type":"type.googleapis.com/google.rpc.Help","links":[{"description":"d","url":"u"}]}"#,
        info("SERVICE_DISABLED")),
      .serviceDisabled, after(2), effect: held(.serviceDisabled), countsAttempt: false),
    AnswerRow("403 page", 403, page, .none, after(2), effect: held(.none), countsAttempt: false),

    AnswerRow(
      "404 unregistered", 404,
      error(404, "NOT_FOUND", "Requested entity was not found.", fcm("UNREGISTERED")), .unregistered,
      .finish(.unregistered), token: .prune),
    AnswerRow(
      "404 unregistered at APNs", 404, error(404, "NOT_FOUND", "NotRegistered", apns, fcm("UNREGISTERED")),
      .unregistered, .finish(.unregistered), token: .prune),
    AnswerRow(
      "404 unregistered without FcmError", 404,
      error(404, "NOT_FOUND", "Requested entity was not found.", info("UNREGISTERED")), .notFound, after(2),
      effect: held(.notFound), countsAttempt: false),
    AnswerRow(
      "404 unregistered as status", 404, error(404, "UNREGISTERED", "Gone."), .notFound, after(2),
      effect: held(.notFound), countsAttempt: false),
    AnswerRow(
      "404 project", 404, error(404, "NOT_FOUND", "Requested entity was not found."), .notFound, after(2),
      effect: held(.notFound), countsAttempt: false),
    AnswerRow("404 path", 404, page, .none, after(2), effect: held(.none), countsAttempt: false),

    AnswerRow(
      "429 project", 429,
      error(
        429, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Send requests' of service 'fcm.googleapis.com'.",
        info("RATE_LIMIT_EXCEEDED")),
      .projectQuotaExceeded, after(60), effect: .slowQuota(perMinute: 600_000), countsAttempt: false),
    AnswerRow(
      "429 bare", 429, error(429, "RESOURCE_EXHAUSTED", ""), .projectQuotaExceeded, after(60), effect: slow,
      countsAttempt: false),
    AnswerRow(
      "429 project by FcmError", 429, error(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", fcm("QUOTA_EXCEEDED")),
      .projectQuotaExceeded, after(60), effect: slow, countsAttempt: false),
    AnswerRow("429 page", 429, page, .none, after(60), effect: slow, countsAttempt: false),
    AnswerRow(
      "429 project with Retry-After", 429, error(429, "RESOURCE_EXHAUSTED", ""), retryAfter: 25, .projectQuotaExceeded,
      after(25), effect: slow, countsAttempt: false),
    AnswerRow(
      "429 project with a short Retry-After", 429, error(429, "RESOURCE_EXHAUSTED", ""), retryAfter: 1,
      .projectQuotaExceeded, after(10), effect: slow, countsAttempt: false),
    AnswerRow(
      "429 device", 429,
      error(
        429, "RESOURCE_EXHAUSTED", "Quota exceeded.", fcm("QUOTA_EXCEEDED"),
        #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"device:x"}]}"#),
      .targetQuotaExceeded, after(60)),
    AnswerRow(
      "429 topic", 429, error(429, "RESOURCE_EXHAUSTED", "Topic quota exceeded.", fcm("QUOTA_EXCEEDED")),
      .targetQuotaExceeded, after(60)),

    AnswerRow(
      "500", 500, error(500, "INTERNAL", "Internal error encountered.", fcm("INTERNAL")), .internalError, after(10)),
    AnswerRow("502 page", 502, page, .none, after(30)),
    AnswerRow("504 page", 504, page, .none, after(30)),
    AnswerRow(
      "503", 503, error(503, "UNAVAILABLE", "The service is currently unavailable.", fcm("UNAVAILABLE")), .unavailable,
      after(10)),
    AnswerRow(
      "503 with Retry-After", 503, error(503, "UNAVAILABLE", "", fcm("UNAVAILABLE")), retryAfter: 120, .unavailable,
      after(120)),
    AnswerRow(
      "no more is known", 400, error(400, "UNKNOWN", "", fcm("UNSPECIFIED_ERROR")), .unspecifiedError, after(10)),
    AnswerRow("another 4xx", 418, error(418, "TEAPOT", "", fcm("TEA")), .other, .finish(.rejected)),
    AnswerRow("another 4xx, page", 405, page, .none, .finish(.rejected)),
    AnswerRow(
      "a server in between", 302, page, .none, after(2), effect: .leaveCampaign(.none), countsAttempt: false),
  ]
}
