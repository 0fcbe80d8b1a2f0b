/// An error of FCM or of Google's front end. Its body is that of a captured answer of the real service, if such an
/// answer is known.
struct FCMError: Equatable {
  static let type = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
  private static let badRequest = "type.googleapis.com/google.rpc.BadRequest"
  private static let errorInfo = "type.googleapis.com/google.rpc.ErrorInfo"
  private static let help = "type.googleapis.com/google.rpc.Help"

  var code: Int
  var status: String
  var message: String
  var details: [JSONTree] = []
  /// The key under which ``FCMCounters/errors`` counts the error: the error code, the reason or the status.
  var word: String
  /// Seconds in `retry-after`; 0 for no header.
  var retryAfterSeconds = 0
  var retryAfterIsDate = false
  /// Whether the body is HTML.
  var isHTML = false

  /// The body in a form that a knob sets; `nil` for none.
  func body(by knobs: FCMKnobs) -> [UInt8]? {
    if isHTML { return html }
    var shown = details
    if knobs.reversesDetails { shown.reverse() }
    if knobs.omitsDetails { shown = [] }
    var members: [JSONTree.Member] = [
      .init(name: "code", value: .number(String(code))), .init(name: "message", value: .string(message)),
      .init(name: "status", value: .string(status)),
    ]
    if !shown.isEmpty { members.append(.init(name: "details", value: .array(shown))) }
    let json = JSONTree.members(["error": .object(members)]).pretty
    return knobs.errorBodyForm.apply(to: json, html: html)
  }

  private var html: [UInt8] {
    let advice =
      code >= 500
      ? "The server encountered a temporary error and could not complete your request.<p>Please try again in 30 seconds."
      : "The requested URL was not found on this server."
    let text = """
      <!DOCTYPE html>
      <html lang=en>
        <title>Error \(code) (\(message))!!1</title>
        <p><b>\(code).</b> <ins>That’s an error.</ins>
        <p>\(advice)

      """
    return Array(text.utf8)
  }

  // MARK: Details

  private static func detail(_ code: String) -> JSONTree {
    .members(["@type": .string(type), "errorCode": .string(code)])
  }

  private static func violations(_ violations: [TypeCheck.Violation]) -> JSONTree {
    let list = violations.map { violation -> JSONTree in
      violation.field.isEmpty
        ? .members(["description": .string(violation.description)])
        : .members(["field": .string(violation.field), "description": .string(violation.description)])
    }
    return .members(["@type": .string(badRequest), "fieldViolations": .array(list)])
  }

  private static func info(_ reason: String, _ metadata: KeyValuePairs<String, JSONTree>) -> JSONTree {
    .members([
      "@type": .string(errorInfo), "reason": .string(reason), "domain": "googleapis.com",
      "metadata": .members(metadata),
    ])
  }

  private static let method: KeyValuePairs<String, JSONTree> = [
    "method": "google.firebase.fcm.v1.FcmService.SendMessage", "service": "fcm.googleapis.com",
  ]

  // MARK: Before FCM

  static let unknownPath = FCMError(
    code: 404, status: "NOT_FOUND", message: "Not Found", word: "404", isHTML: true)
  static let wrongMethod = FCMError(
    code: 405, status: "UNIMPLEMENTED", message: "Method Not Allowed", word: "405", isHTML: true)

  static let credentialsMissing = FCMError(
    code: 401, status: "UNAUTHENTICATED",
    message:
      "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other "
      + "valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
    details: [info("CREDENTIALS_MISSING", method)], word: "CREDENTIALS_MISSING")
  private static let invalidCredentials =
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
    + "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
  static let accessTokenInvalid = FCMError(
    code: 401, status: "UNAUTHENTICATED", message: invalidCredentials, word: "UNAUTHENTICATED")
  static let accessTokenExpired = FCMError(
    code: 401, status: "UNAUTHENTICATED", message: invalidCredentials, details: [info("ACCESS_TOKEN_EXPIRED", method)],
    word: "ACCESS_TOKEN_EXPIRED")
  static let scopeMissing = FCMError(
    code: 403, status: "PERMISSION_DENIED", message: "Request had insufficient authentication scopes.",
    details: [info("ACCESS_TOKEN_SCOPE_INSUFFICIENT", method)], word: "ACCESS_TOKEN_SCOPE_INSUFFICIENT")

  static func permissionDenied(_ project: String) -> FCMError {
    let resource = "//cloudresourcemanager.googleapis.com/projects/\(project)"
    return FCMError(
      code: 403, status: "PERMISSION_DENIED",
      message: "Permission 'cloudmessaging.messages.create' denied on resource '\(resource)' (or it may not exist).",
      details: [
        info(
          "IAM_PERMISSION_DENIED",
          ["permission": "cloudmessaging.messages.create", "resource": .string("projects/\(project)")])
      ], word: "PERMISSION_DENIED")
  }

  static func disabled(_ project: String) -> FCMError {
    let page = "https://console.developers.google.com/apis/api/fcm.googleapis.com/overview?project=\(project)"
    return FCMError(
      code: 403, status: "PERMISSION_DENIED",
      message: "Firebase Cloud Messaging API has not been used in project \(project) before or it is disabled. Enable "
        + "it by visiting \(page) then retry. If you enabled this API recently, wait a few minutes for the action to "
        + "propagate to our systems and retry.",
      details: [
        .members([
          "@type": .string(help),
          "links": .array([
            .members(["description": "Google developers console API activation", "url": .string(page)])
          ]),
        ]),
        info("SERVICE_DISABLED", ["service": "fcm.googleapis.com", "consumer": .string("projects/\(project)")]),
      ], word: "SERVICE_DISABLED")
  }

  static let unknownProject = FCMError(
    code: 404, status: "NOT_FOUND", message: "Requested entity was not found.", word: "NOT_FOUND")

  /// Returns the error for wrong names or types, which Google's front end detects before FCM gets the request.
  static func types(_ list: [TypeCheck.Violation]) -> FCMError {
    FCMError(
      code: 400, status: "INVALID_ARGUMENT", message: list.map(\.description).joined(separator: "\n"),
      details: [violations(list)], word: "400")
  }

  // MARK: Messages

  /// Returns the error for a message that breaks a rule of FCM. `BadRequest` comes first, as in captured answers.
  static func invalid(_ message: String, field: String) -> FCMError {
    FCMError(
      code: 400, status: "INVALID_ARGUMENT", message: message,
      details: [violations([.init(field: field, description: message)]), detail("INVALID_ARGUMENT")],
      word: "INVALID_ARGUMENT")
  }

  static let invalidCondition = FCMError(
    code: 400, status: "INVALID_ARGUMENT", message: "Request contains an invalid argument.", word: "INVALID_ARGUMENT")

  static func tooLarge(_ knobs: FCMKnobs) -> FCMError {
    FCMError(
      code: 400, status: "INVALID_ARGUMENT",
      message: knobs.usesOldTexts
        ? "Android message is too big" : "Message is too large. The maximum is 4K (4096 bytes).",
      details: knobs.usesOldTexts ? [] : [.members(["@type": .string(badRequest)]), detail("INVALID_ARGUMENT")],
      word: "INVALID_ARGUMENT")
  }

  static func malformedToken(_ knobs: FCMKnobs) -> FCMError {
    let text = "The registration token is not a valid FCM registration token"
    let old = knobs.usesOldTexts
    return FCMError(
      code: 400, status: "INVALID_ARGUMENT", message: old ? "Request contains an invalid argument." : text,
      details: [
        detail("INVALID_ARGUMENT"),
        violations([.init(field: "message.token", description: old ? "Invalid registration token" : text)]),
      ], word: "INVALID_ARGUMENT")
  }

  static let senderMismatch = FCMError(
    code: 403, status: "PERMISSION_DENIED", message: "SenderId mismatch", details: [detail("SENDER_ID_MISMATCH")],
    word: "SENDER_ID_MISMATCH")

  static func unregistered(_ knobs: FCMKnobs) -> FCMError {
    FCMError(
      code: 404, status: "NOT_FOUND",
      message: knobs.usesOldTexts ? "NotRegistered" : "Requested entity was not found.",
      details: [detail("UNREGISTERED")], word: "UNREGISTERED")
  }

  static let thirdPartyAuth = FCMError(
    code: 401, status: "UNAUTHENTICATED", message: "Auth error from APNS or Web Push Service",
    details: [detail("THIRD_PARTY_AUTH_ERROR")], word: "THIRD_PARTY_AUTH_ERROR")

  // MARK: Quotas

  static func projectQuota(_ project: String, limit: Int, retryAfterSeconds: Int) -> FCMError {
    FCMError(
      code: 429, status: "RESOURCE_EXHAUSTED",
      message: "Quota exceeded for quota metric 'Send requests' and limit 'Send requests per minute' of service "
        + "'fcm.googleapis.com' for consumer 'project_number:\(project)'.",
      details: [
        info(
          "RATE_LIMIT_EXCEEDED",
          [
            "quota_limit_value": .string(String(limit)), "consumer": .string("projects/\(project)"),
            "quota_metric": "fcm.googleapis.com/send_requests", "quota_unit": "1/min/{project}",
            "service": "fcm.googleapis.com", "quota_location": "global", "quota_limit": "SendsPerMinutePerProject",
          ]),
        .members([
          "@type": .string(help),
          "links": .array([
            .members([
              "description": "Request a higher quota limit.",
              "url": "https://cloud.google.com/docs/quotas/help/request_increase",
            ])
          ]),
        ]),
      ], word: "RATE_LIMIT_EXCEEDED", retryAfterSeconds: retryAfterSeconds)
  }

  static let deviceQuota = FCMError(
    code: 429, status: "RESOURCE_EXHAUSTED", message: "Device message rate exceeded.",
    details: [
      detail("QUOTA_EXCEEDED"),
      .members([
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": .array([
          .members(["subject": "device", "description": "Too many messages to this device."])
        ]),
      ]),
    ], word: "QUOTA_EXCEEDED")

  // MARK: Faults

  static let unlisted = FCMError(
    code: 409, status: "ABORTED", message: "The operation was aborted.", details: [detail("ABORTED")], word: "ABORTED")
  static let `internal` = FCMError(
    code: 500, status: "INTERNAL", message: "Internal error encountered.", details: [detail("INTERNAL")],
    word: "INTERNAL")
  static let badGateway = FCMError(code: 502, status: "", message: "Server Error", word: "502", isHTML: true)
  static let unavailable = FCMError(
    code: 503, status: "UNAVAILABLE", message: "The service is currently unavailable.",
    details: [detail("UNAVAILABLE")], word: "UNAVAILABLE")

  /// Returns the answer of an injected failure.
  static func injected(_ failure: FCMKnobs.Failure, project: String, by knobs: FCMKnobs) -> FCMError {
    var error =
      switch failure.kind {
      case .unregistered: unregistered(knobs)
      case .malformedToken: malformedToken(knobs)
      case .invalidArgument: invalidCondition
      case .senderMismatch: senderMismatch
      case .thirdPartyAuth: thirdPartyAuth
      case .permissionDenied: permissionDenied(project)
      case .accessTokenExpired: accessTokenExpired
      case .accessTokenInvalid: accessTokenInvalid
      case .projectQuota: projectQuota(project, limit: knobs.messagesPerMinute, retryAfterSeconds: 0)
      case .deviceQuota: deviceQuota
      case .unknownProject: unknownProject
      case .unlisted: unlisted
      case .internal: `internal`
      case .badGateway: badGateway
      case .unavailable: unavailable
      }
    error.retryAfterSeconds = failure.retryAfterSeconds
    error.retryAfterIsDate = failure.retryAfterIsDate
    return error
  }
}

extension JSONTree: ExpressibleByStringLiteral {
  init(stringLiteral value: String) { self = .string(value) }
}

extension FCMKnobs.BodyForm {
  /// Returns a body in this form; `nil` for none.
  func apply(to json: [UInt8], html: [UInt8]) -> [UInt8]? {
    switch self {
    case .json: json
    case .html: html
    case .empty: nil
    case .cut: Array(json.prefix(json.count / 2))
    }
  }
}
