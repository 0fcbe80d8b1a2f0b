/// Checks the push requests of one connection. The order of the checks is: path, duplicate fields, authorization, field
/// values, topic, body, device. Apple documents no order. Observed answers of APNs show only that it checks the
/// authorization before the device. The type looks up devices in the shared registry. The caller supplies the time.
struct RequestValidator {
  /// The result of the checks of a request's header block. When the body has arrived, its size determines which of the
  /// reasons applies.
  struct Verdict {
    /// The reason for a rejection that does not depend on the body.
    var rejection: Reason?
    /// Limit of the body in bytes.
    var bodyLimit = PushType.usualLimit
    /// The reason for a rejection that applies only if the body has a valid size; `nil` for none.
    var afterBody: Reason?
    /// Milliseconds since 1970, for reasons that contain a timestamp.
    var timestamp: Int64 = 0
    /// The topic of the push.
    var topic = DeviceRegistry.anyTopic
    /// Whether the device is currently offline.
    var isAway = false

    /// Returns the reason to answer after `bodyCount` bytes of body, or `nil` to accept.
    func reason(bodyCount: Int) -> Reason? {
      if let rejection { return rejection }
      if bodyCount == 0 { return .payloadEmpty }
      if bodyCount > bodyLimit { return .payloadTooLarge }
      return afterBody
    }
  }

  private static let longestCollapseID = 64
  private static let longestToken = 255

  var authentication: ConnectionAuthentication
  private var topics: TopicValidator
  private let registry: DeviceRegistry
  private let environment: SimulatorEnvironment

  init(_ shared: SharedState, authentication: ConnectionAuthentication) {
    self.authentication = authentication
    registry = shared.registry
    environment = shared.configuration.environment
    topics = TopicValidator(verifier: shared.verifier, registry: registry)
  }

  /// Checks the header block of a request.
  ///
  /// - Parameters:
  ///   - headers: the request's header fields.
  ///   - id: the `apns-id` in `headers`, if it is valid.
  ///   - rules: the current rules.
  ///   - now: seconds since 1970 on the simulator's clock.
  mutating func validate(_ headers: PushHeaders, id: MessageID?, by rules: Rules, now: Int64) -> Verdict {
    var verdict = Verdict()
    guard let token = headers.token else { return Verdict(rejection: .badPath) }
    guard let method = headers.method, method.matches("POST") else { return Verdict(rejection: .methodNotAllowed) }
    if token.isEmpty { return Verdict(rejection: .missingDeviceToken) }
    if headers.hasDuplicates { return Verdict(rejection: .duplicateHeaders) }

    let sender: ConnectionAuthentication.Sender
    switch authentication.authenticate(headers.authorization, by: rules, now: now) {
    case .refused(let reason): return Verdict(rejection: reason)
    case .genuine(let genuine): sender = genuine
    }

    if headers.id != nil, id == nil { return Verdict(rejection: .badMessageID) }
    if let expiration = headers.expiration, expiration.decimal == nil { return Verdict(rejection: .badExpirationDate) }
    if let priority = headers.priority, !(priority.matches("10") || priority.matches("5") || priority.matches("1")) {
      return Verdict(rejection: .badPriority)
    }
    if let collapseID = headers.collapseID, collapseID.count > Self.longestCollapseID {
      return Verdict(rejection: .badCollapseID)
    }
    var type: PushType?
    if let pushType = headers.pushType {
      guard let known = PushType(pushType) else { return Verdict(rejection: .invalidPushType) }
      verdict.bodyLimit = known.payloadLimit
      type = known
    }

    let topic = topics.validate(
      headers.topic, type: type, from: sender, certificate: authentication.certificate, by: rules)
    if let reason = topic.reason { return Verdict(rejection: reason) }

    verdict.topic = topic.id
    checkDevice(token, unknown: rules.knobs.unknownTokens, into: &verdict)
    if rules.knobs.rejectsUrgentBackground, verdict.afterBody == nil, type == .background,
      headers.priority?.matches("10") ?? true
    {
      verdict.afterBody = .badPriority
    }
    return verdict
  }

  private func checkDevice(
    _ token: UnsafeRawBufferPointer, unknown: SimulatorKnobs.UnknownTokens, into verdict: inout Verdict
  ) {
    let record: TokenTable.Record?
    switch find(token) {
    case .noToken:
      verdict.afterBody = .badDeviceToken
      return
    case .device(let known): record = known
    }
    guard let record else {
      verdict.afterBody = unknown == .accept ? nil : .badDeviceToken
      return
    }
    verdict.timestamp = record.timestamp
    verdict.isAway = record.isAway
    if let home = record.environment, home != environment {
      verdict.afterBody = .badDeviceToken
      return
    }
    switch record.state {
    case .bad: verdict.afterBody = .badDeviceToken
    case .wrongTopic: verdict.afterBody = .deviceTokenNotForTopic
    case _ where record.topic != DeviceRegistry.anyTopic && record.topic != verdict.topic:
      verdict.afterBody = .deviceTokenNotForTopic
    case .registered: break
    case .unregistered: verdict.afterBody = .unregistered
    case .expired: verdict.afterBody = .expiredToken
    }
  }

  private enum Found {
    case noToken
    case device(TokenTable.Record?)
  }

  private func find(_ token: UnsafeRawBufferPointer) -> Found {
    withUnsafeTemporaryAllocation(byteCount: Self.longestToken, alignment: 8) { buffer in
      guard let count = Hex.decode(token, into: buffer) else { return .noToken }
      return .device(registry.find(UnsafeRawBufferPointer(rebasing: buffer[..<count])))
    }
  }
}
