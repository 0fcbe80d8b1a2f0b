import APNs
import APNsSimulator
import PushCore

/// The table in `Tests/Pages/reasons.md`: sections 2.6, 3.4, 5.2, 5.3, 5.5 and 7.4 of the reference.
enum ReasonTable {
  static let rows: [ReasonRow] =
    accepted + requests + devices + tokens + certificates + serverErrors + unexplained + foreign + broadcasts

  /// The error affects every push of the campaign.
  private static let everyPush = "APNs refuses every push of the campaign"
  private static let credential = "APNs refuses the credential of app news"

  private static func refused(
    _ name: String, _ status: Int, _ auth: [ReasonRow.Auth] = ReasonRow.Auth.allCases, _ scene: ReasonScene? = nil
  ) -> ReasonRow {
    var row = ReasonRow(
      name, status, auth: auth, nil, .held, campaign: .paused("\(everyPush): \(name)"),
      by: .answering(name, status, .all))
    if let scene { row.scenes = [scene] }
    return row
  }

  // MARK: Answers that APNs documents

  private static let accepted: [ReasonRow] = [
    ReasonRow(
      "– (with or without `apns-id`, in either case)", 200, exported: "", .accepted, .final, by: .natural(),
      .natural {
        $0.remark = "without apns-id"
        $0.knobs.sendsID = false
      },
      .natural {
        $0.remark = "apns-id in upper case"
        $0.knobs.raisesID = true
      })
  ]

  private static let requests: [ReasonRow] =
    [
      "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "DuplicateHeaders", "InvalidPushType",
      "MissingDeviceToken", "MissingTopic", "PayloadEmpty",
    ].map { refused($0, 400) } + [
      // A topic can't contain an underscore.
      refused(
        "BadTopic", 400, ReasonRow.Auth.allCases,
        .natural(.all) {
          $0.topic = "com.example_news"
          $0.certificateTopic = "com.example_news"
        }),
      refused("TopicDisallowed", 400, [.token], .natural(.all) { $0.keyTopics = ["com.example.other"] }),
      // A topic that the certificate does not cover is rejected before: rule certificate-topic.
      refused("TopicDisallowed", 400, [.certificate]),
      refused("BadPath", 404), refused("MethodNotAllowed", 405), refused("PayloadTooLarge", 413),
      ReasonRow(
        "IdleTimeout", 400, .accepted, .resent, connection: .replaced, by: .answering("IdleTimeout", 400)),
    ]

  private static let devices: [ReasonRow] = [
    ReasonRow(
      "BadDeviceToken", 400, .badToken, .final, device: .quarantined, by: .natural { $0.state = .bad },
      .natural {
        $0.remark = "token of the other environment"
        $0.deviceEnvironment = .sandbox
      }),
    ReasonRow(
      "BadDeviceToken (for all devices)", 400, nil, .spared,
      campaign: .guarded("probably the wrong environment for app news, or the wrong topic"),
      by: .natural(.all) { $0.deviceEnvironment = .sandbox }),
    ReasonRow(
      "DeviceTokenNotForTopic", 400, .wrongTopic, .final, device: .quarantined,
      by: .natural { $0.deviceTopic = "com.example.other" }),
    ReasonRow(
      "DeviceTokenNotForTopic (for all devices)", 400, nil, .spared,
      campaign: .guarded("probably the wrong environment for app news, or the wrong topic"),
      by: .natural(.all) { $0.deviceTopic = "com.example.other" }),
    ReasonRow(
      "Unregistered (timestamp after the registration, or the same)", 410, .unregistered, .final, device: .pruned,
      by: .natural { $0.state = .unregistered },
      .natural {
        $0.remark = "the same instant"
        $0.state = .unregistered
        $0.deadSince = ReasonScene.registeredAt
      }),
    ReasonRow(
      "Unregistered (timestamp before the registration)", 410, .unregistered, .final, device: .spared,
      by: .natural {
        $0.state = .unregistered
        $0.deadSince = ReasonScene.registeredAt - 1
      }),
    ReasonRow(
      "Unregistered (without timestamp: time of the grant)", 410, .unregistered, .final, device: .pruned,
      by: .natural {
        $0.state = .unregistered
        $0.deadSince = ReasonScene.registeredAt - 1
        $0.knobs.reportsTimestamp = false
      }),
    ReasonRow(
      "Unregistered (for all devices)", 410, nil, .spared, campaign: .guarded("answers reported the device as gone"),
      by: .natural(.all) { $0.state = .unregistered }),
    ReasonRow("ExpiredToken", 410, .expiredToken, .final, device: .pruned, by: .natural { $0.state = .expired }),
    ReasonRow(
      "TooManyRequests", 429, nil, .waits(.tooManyRequests), by: .answering("TooManyRequests", 429, .one(times: 99))),
    ReasonRow(
      "TooManyRequests (with `Retry-After`)", 429, nil, .waits(.retryAfter),
      by: .answering("TooManyRequests", 429, .one(times: 99)) { $0.knobs.retryAfterSeconds = ReasonStage.retryAfter }),
  ]

  // MARK: Credentials

  private static let tokens: [ReasonRow] = [
    ReasonRow(
      "ExpiredProviderToken", 403, auth: [.token], .accepted, .resent, credential: .mintedOnce, connection: .replaced,
      // APNs' clock is so far ahead that it accepts only a token that is made outside of the regular times.
      by: .natural(.all) { $0.knobs.clockSkewSeconds = 3400 }),
    ReasonRow(
      "ExpiredProviderToken (also for the new token)", 403, auth: [.token], nil, .held,
      credential: .stopped(.expiredProviderToken), connection: .replaced,
      campaign: .paused("\(credential): ExpiredProviderToken"), by: .natural(.all) { $0.knobs.clockSkewSeconds = 7200 }),
    ReasonRow(
      "InvalidProviderToken", 403, auth: [.token], nil, .held, credential: .stopped(.invalidProviderToken),
      campaign: .paused("\(credential): InvalidProviderToken"), by: .natural(.all) { $0.isKeyKnown = false },
      .natural(.all) {
        $0.remark = "revoked key"
        $0.knobs.revokedKeys = ["ABC123DEFG"]
      }),
    ReasonRow(
      "MissingProviderToken", 403, auth: [.token], nil, .held, credential: .stopped(.missingProviderToken),
      campaign: .paused("\(credential): MissingProviderToken"), by: .answering("MissingProviderToken", 403, .all)),
    ReasonRow(
      "BadEnvironmentKeyIdInToken (also spelt BadEnvironmentKeyInToken)", 403, auth: [.token],
      exported: "BadEnvironmentKeyIdInToken", nil, .held, credential: .stopped(.badEnvironmentKeyIdInToken),
      campaign: .paused("\(credential): BadEnvironmentKeyIdInToken"),
      by: .natural(.all) { $0.keyEnvironment = .sandbox },
      .natural(.all) {
        $0.remark = "as seen in the wild"
        $0.keyEnvironment = .sandbox
        $0.knobs.spellings = ["BadEnvironmentKeyIdInToken": "BadEnvironmentKeyInToken"]
      }),
    ReasonRow(
      "UnrelatedKeyIdInToken", 403, auth: [.token], .accepted, .resent, connection: .replaced,
      by: .answering("UnrelatedKeyIdInToken", 403)),
    ReasonRow(
      "TooManyProviderTokenUpdates", 429, auth: [.token], nil, .waits(.serverError),
      by: .answering("TooManyProviderTokenUpdates", 429, .one(times: 99))),
    ReasonRow(
      "Forbidden", 403, nil, .held, credential: .stopped(.forbidden),
      campaign: .paused("\(credential): Forbidden"),
      by: .answering("Forbidden", 403, .all)),
  ]

  private static let certificates: [ReasonRow] = [
    ReasonRow(
      "BadCertificate", 403, auth: [.certificate], nil, .held, credential: .stopped(.badCertificate),
      campaign: .paused("\(credential): BadCertificate"), by: .answering("BadCertificate", 403, .all)),
    ReasonRow(
      "BadCertificateEnvironment", 403, auth: [.certificate], nil, .held,
      credential: .stopped(.badCertificateEnvironment),
      campaign: .paused("it is not for this environment"),
      by: .natural(.all) {
        $0.certificateEnvironments = [.sandbox]
        $0.knobs.refusesCertificateByGoAway = false
      }),
    ReasonRow(
      "BadCertificateEnvironment (by GOAWAY; with curl the third in a row)", nil, auth: [.certificate], nil, .held,
      credential: .stopped(.badCertificateEnvironment), connection: .refused,
      campaign: .paused("it is not for this environment"),
      by: .natural(.all) { $0.certificateEnvironments = [.sandbox] }),
    ReasonRow(
      "certificate_expired (TLS alert)", nil, auth: [.certificate], nil, .held, credential: .stopped(.badCertificate),
      connection: .refused, campaign: .paused("the certificate has expired"),
      by: .natural(.all) { $0.certificateValidity = -7200 ..< -3600 }),
    ReasonRow(
      "certificate_revoked (TLS alert)", nil, auth: [.certificate], nil, .held, credential: .stopped(.badCertificate),
      connection: .refused, campaign: .paused("TLS alert certificate_revoked"),
      by: .natural(.all) { $0.knobs.certificateAlert = .revoked }),
    ReasonRow(
      "unknown_ca (TLS alert)", nil, auth: [.certificate], nil, .held, credential: .stopped(.badCertificate),
      connection: .refused, campaign: .paused("TLS alert unknown_ca"),
      by: .natural(.all) { $0.knobs.certificateAlert = .unknownAuthority }),
  ]

  // MARK: Server errors

  /// The target's first push got a server error.
  private static let afterServerErrors = ReasonRow.Disposition.waits(.firstServerError)

  private static let serverErrors: [ReasonRow] = [
    ReasonRow(
      "InternalServerError", 500, nil, afterServerErrors, by: .answering("InternalServerError", 500, .one(times: 99))),
    ReasonRow(
      "ServiceUnavailable (also spelt with a space)", 503, exported: "ServiceUnavailable", nil, afterServerErrors,
      by: .answering("ServiceUnavailable", 503, .one(times: 99)),
      .answering("Service Unavailable", 503, .one(times: 99))),
    ReasonRow(
      "InternalServerError (with `Retry-After`)", 500, nil, .waits(.retryAfter),
      by: .answering("InternalServerError", 500, .one(times: 99)) {
        $0.knobs.retryAfterSeconds = ReasonStage.retryAfter
      }),
    ReasonRow(
      "ServiceUnavailable (with `Retry-After`)", 503, nil, .waits(.retryAfter),
      by: .answering("ServiceUnavailable", 503, .one(times: 99)) { $0.knobs.retryAfterSeconds = ReasonStage.retryAfter }
    ),
    ReasonRow("Shutdown", 503, .accepted, .resent, connection: .another, by: .answering("Shutdown", 503)),
    ReasonRow(
      "Shutdown (again and again)", 503, nil, .waits(.serverError), connection: .another,
      by: .answering("Shutdown", 503, .one(times: 99))),
  ]

  // MARK: Answers without a known reason

  private static func wordless(_ status: Int, _ hit: ReasonScene.Hit) -> [ReasonScene] {
    [
      .answering("", status, hit, .empty), .answering("x", status, hit, .broken), .answering("", status, hit),
      .answering("New", status, hit),
    ]
  }

  private static func byStatus(
    _ status: Int, _ hit: ReasonScene.Hit, _ outcome: Outcome?, _ disposition: ReasonRow.Disposition = .final,
    _ change: (inout ReasonRow) -> Void = { _ in }
  ) -> ReasonRow {
    var row = ReasonRow("unknown reason", status, outcome, disposition)
    row.scenes = wordless(status, hit)
    change(&row)
    return row
  }

  /// The body is missing, is not JSON, or has no reason or a new one. The status decides.
  private static let unexplained: [ReasonRow] = [
    byStatus(400, .one(times: 1), .rejected),
    byStatus(403, .all, nil, .held) {
      $0.credential = .stoppedBySomethingUnknown
      $0.campaign = .paused("\(credential): status 403")
    },
    byStatus(404, .all, nil, .held) { $0.campaign = .paused("\(everyPush): status 404") },
    byStatus(405, .all, nil, .held) { $0.campaign = .paused("\(everyPush): status 405") },
    byStatus(410, .one(times: 1), .unregistered) { $0.device = .pruned },
    byStatus(413, .all, nil, .held) { $0.campaign = .paused("\(everyPush): status 413") },
    byStatus(418, .one(times: 1), .rejected),
    byStatus(429, .one(times: 99), nil, .waits(.tooManyRequests)),
    byStatus(500, .one(times: 99), nil, afterServerErrors),
    byStatus(503, .one(times: 99), nil, afterServerErrors),
    byStatus(599, .one(times: 99), nil, afterServerErrors),
  ]

  /// APNs never gives this answer. It comes from a server in between.
  private static let foreign: [ReasonRow] = [
    byStatus(302, .all, nil, .held) { $0.campaign = .paused("\(everyPush): status 302") },
    byStatus(201, .one(times: 1), .accepted),
  ]

  // MARK: Broadcasts

  private static func broadcast(
    _ name: String, _ status: Int, auth: [ReasonRow.Auth] = ReasonRow.Auth.allCases, exported: String? = nil,
    _ outcome: Outcome?, _ disposition: ReasonRow.Disposition, _ scene: ReasonScene
  ) -> ReasonRow {
    var scene = scene
    scene.channel = scene.channel ?? .open
    return ReasonRow(
      "\(name) (broadcast)", status, auth: auth, exported: exported, outcome, disposition,
      campaign: disposition == .held ? .paused("\(everyPush): \(name)") : .broadcast, by: scene)
  }

  private static let broadcasts: [ReasonRow] =
    [
      broadcast("–", 200, exported: "", .accepted, .final, .natural()),
      broadcast("BadChannelId", 400, nil, .held, .natural { $0.channel = .named("abcde") }),
      broadcast("ChannelNotRegistered", 400, nil, .held, .natural { $0.channel = .named("YWJj") }),
      broadcast("FeatureNotEnabled", 400, nil, .held, .natural { $0.knobs.enablesBroadcast = false }),
      broadcast("BadExpirationDate", 400, nil, .held, .natural { $0.fields = #","expiration":"4h""# }),
      broadcast(
        "TopicMismatch", 403, auth: [.token], nil, .held, .natural { $0.keyTopics = ["com.example.other"] }),
    ]
    + [
      "MissingChannelId", "MissingPushType", "InvalidPushType", "BadMessageId", "BadPriority", "PayloadEmpty",
      "TopicDisallowed", "BadRequestParams", "BadRequestPayload", "CannotCreateChannelConfig",
    ].map { broadcast($0, 400, nil, .held, .answering($0, 400, .all)) } + [
      broadcast("PayloadTooLarge", 413, nil, .held, .answering("PayloadTooLarge", 413, .all)),
      broadcast("TooManyRequests", 429, nil, .waits(.tooManyRequests), .answering("TooManyRequests", 429, .all)),
      broadcast("InternalServerError", 500, nil, afterServerErrors, .answering("InternalServerError", 500, .all)),
      broadcast(
        "Service Unavailable", 503, exported: "ServiceUnavailable", nil, afterServerErrors,
        .answering("Service Unavailable", 503, .all)),
    ]
}
