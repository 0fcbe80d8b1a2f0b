/// The checks of one connection's requests, in the order of the reference's section 10.3. Pure but for looking devices
/// up; time is passed in.
struct RequestJudge {
  /// What a request's header block comes to; the body's size decides between the two reasons.
  struct Verdict {
    /// Rejected whatever the body.
    var rejection: Reason?
    /// The most bytes of body.
    var bodyLimit = PushType.usualLimit
    /// Rejected when the body is all right.
    var afterBody: Reason?
    /// Milliseconds since 1970, for reasons that carry it.
    var timestamp: Int64 = 0

    /// The reason to answer with once `bodyCount` bytes of body have come, `nil` to accept.
    func settled(bodyCount: Int) -> Reason? {
      if let rejection { return rejection }
      if bodyCount == 0 { return .payloadEmpty }
      if bodyCount > bodyLimit { return .payloadTooLarge }
      return afterBody
    }
  }

  private static let longestCollapseID = 64
  private static let longestToken = 255

  private(set) var authentication: ConnectionAuthentication
  private var topics: TopicJudge
  private let registry: DeviceRegistry
  private let environment: SimulatorEnvironment

  init(_ shared: SharedState, authentication: ConnectionAuthentication) {
    self.authentication = authentication
    registry = shared.registry
    environment = shared.configuration.environment
    topics = TopicJudge(verifier: shared.verifier, registry: registry)
  }

  /// - Parameters:
  ///   - headers: what the request said.
  ///   - id: the `apns-id` in `headers`, when it is one.
  ///   - rules: what holds now.
  ///   - now: seconds since 1970, by the simulator's clock.
  mutating func judge(_ headers: PushHeaders, id: MessageID?, by rules: Rules, now: Int64) -> Verdict {
    var verdict = Verdict()
    guard let token = headers.token else { return Verdict(rejection: .badPath) }
    guard let method = headers.method, method.matches("POST") else { return Verdict(rejection: .methodNotAllowed) }
    if token.isEmpty { return Verdict(rejection: .missingDeviceToken) }
    if headers.hasDuplicates { return Verdict(rejection: .duplicateHeaders) }

    let speaker: ConnectionAuthentication.Speaker
    switch authentication.judge(headers.authorization, by: rules, now: now) {
    case .refused(let reason): return Verdict(rejection: reason)
    case .genuine(let genuine): speaker = genuine
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

    let topic = topics.judge(
      headers.topic, type: type, from: speaker, certificate: authentication.certificate, by: rules)
    if let reason = topic.reason { return Verdict(rejection: reason) }

    (verdict.afterBody, verdict.timestamp) = look(token, topic: topic.id, unknown: rules.knobs.unknownTokens)
    if rules.knobs.rejectsUrgentBackground, verdict.afterBody == nil, type == .background,
      headers.priority?.matches("10") ?? true
    {
      verdict.afterBody = .badPriority
    }
    return verdict
  }

  private func look(
    _ token: UnsafeRawBufferPointer, topic: DeviceRegistry.TopicID, unknown: SimulatorKnobs.UnknownTokens
  ) -> (Reason?, Int64) {
    withUnsafeTemporaryAllocation(byteCount: Self.longestToken, alignment: 8) { buffer in
      guard let count = Hex.decode(token, into: buffer) else { return (.badDeviceToken, 0) }
      guard let record = registry.find(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else {
        return (unknown == .accept ? nil : .badDeviceToken, 0)
      }
      if let home = record.environment, home != environment { return (.badDeviceToken, 0) }
      switch record.state {
      case .bad: return (.badDeviceToken, 0)
      case .wrongTopic: return (.deviceTokenNotForTopic, 0)
      case _ where record.topic != DeviceRegistry.anyTopic && record.topic != topic:
        return (.deviceTokenNotForTopic, 0)
      case .registered: return (nil, 0)
      case .unregistered: return (.unregistered, record.timestamp)
      case .expired: return (.expiredToken, record.timestamp)
      }
    }
  }
}
