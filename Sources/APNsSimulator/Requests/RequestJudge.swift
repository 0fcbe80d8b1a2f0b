/// The checks of one connection's requests, in the order of the reference's section 10.3.
///
/// Holds what the connection is bound to, and remembers its last provider token and topic: nearly every request repeats
/// them. Pure but for looking devices up; time is passed in.
struct RequestJudge {
  /// What a request's header block comes to; the body's size decides between the two reasons.
  struct Verdict {
    /// Rejected whatever the body.
    var rejection: Reason?
    /// The most bytes of body.
    var bodyLimit = PushType.usual
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

  /// `iat` must be within one hour of now (Apple, "Establishing a token-based connection to APNs").
  private static let tokenLifetime: Int64 = 3600
  private static let longestCollapseID = 64
  /// A DNS name's length; Apple gives no number for topics.
  private static let longestTopic = 255
  private static let longestToken = 255

  private let verifier: ProviderTokenVerifier
  private let registry: DeviceRegistry

  private var lastAuthorization: [UInt8] = []
  private var lastAcceptsDER = true
  private var lastVerified: ProviderTokenVerifier.Verified?
  private var boundKey: Int?
  private var lastTopic: [UInt8] = []
  private var lastTopicKey: Int?
  private var lastTopicVerdict: (reason: Reason?, id: DeviceRegistry.TopicID) = (nil, DeviceRegistry.anyTopic)

  init(verifier: ProviderTokenVerifier, registry: DeviceRegistry) {
    self.verifier = verifier
    self.registry = registry
  }

  /// - Parameters:
  ///   - headers: what the request said.
  ///   - id: the `apns-id` in `headers`, when it is one.
  ///   - knobs: what holds now.
  ///   - now: seconds since 1970, by the simulator's clock.
  mutating func judge(_ headers: PushHeaders, id: MessageID?, knobs: SimulatorKnobs, now: Int64) -> Verdict {
    var verdict = Verdict()
    guard let token = headers.token else { return Verdict(rejection: .badPath) }
    guard let method = headers.method, method.matches("POST") else { return Verdict(rejection: .methodNotAllowed) }
    if token.isEmpty { return Verdict(rejection: .missingDeviceToken) }
    if headers.hasDuplicates { return Verdict(rejection: .duplicateHeaders) }

    let key: Int
    switch authenticate(headers.authorization, acceptsDER: knobs.acceptsDERSignatures, now: now) {
    case .failure(let reason): return Verdict(rejection: reason)
    case .success(let number): key = number
    }

    if headers.id != nil, id == nil { return Verdict(rejection: .badMessageID) }
    if let expiration = headers.expiration, expiration.decimal == nil { return Verdict(rejection: .badExpirationDate) }
    if let priority = headers.priority, !(priority.matches("10") || priority.matches("5") || priority.matches("1")) {
      return Verdict(rejection: .badPriority)
    }
    if let collapseID = headers.collapseID, collapseID.count > Self.longestCollapseID {
      return Verdict(rejection: .badCollapseID)
    }
    if let pushType = headers.pushType {
      guard let limit = PushType.payloadLimit(pushType) else { return Verdict(rejection: .invalidPushType) }
      verdict.bodyLimit = limit
    }

    guard let topic = headers.topic else { return Verdict(rejection: .missingTopic) }
    let topicVerdict = permit(topic, key: key)
    if let reason = topicVerdict.reason { return Verdict(rejection: reason) }

    (verdict.afterBody, verdict.timestamp) = look(token, topic: topicVerdict.id, unknown: knobs.unknownTokens)
    if knobs.rejectsUrgentBackground, verdict.afterBody == nil, headers.pushType?.matches("background") == true,
      headers.priority?.matches("10") ?? true
    {
      verdict.afterBody = .badPriority
    }
    return verdict
  }

  private enum Authentication {
    case success(Int)
    case failure(Reason)
  }

  private mutating func authenticate(
    _ authorization: UnsafeRawBufferPointer?, acceptsDER: Bool, now: Int64
  ) -> Authentication {
    guard let authorization, let token = Self.bearer(authorization) else { return .failure(.missingProviderToken) }
    if !authorization.matches(lastAuthorization) || acceptsDER != lastAcceptsDER {
      lastAuthorization = Array(authorization)
      lastAcceptsDER = acceptsDER
      lastVerified = verifier.verify(Array(token), acceptsDER: acceptsDER)
    }
    guard let verified = lastVerified else { return .failure(.invalidProviderToken) }
    let age = now - verified.issuedAt
    if age > Self.tokenLifetime { return .failure(.expiredProviderToken) }
    // Undocumented for a token from the future; a clock that is an hour ahead is no clock.
    if age < -Self.tokenLifetime { return .failure(.invalidProviderToken) }
    guard let bound = boundKey, bound != verified.key else {
      boundKey = verified.key
      return .success(verified.key)
    }
    let (first, other) = (verifier.keys[bound], verifier.keys[verified.key])
    if first.teamID != other.teamID { return .failure(.invalidProviderToken) }
    // Only team-wide keys may take turns on a connection (reference 2.4).
    if first.topics != nil || other.topics != nil { return .failure(.unrelatedKeyID) }
    return .success(verified.key)
  }

  /// The token behind the scheme, whose case doesn't matter (RFC 9110 section 11.1); `nil` without one.
  private static func bearer(_ authorization: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    let scheme: StaticString = "bearer "
    guard authorization.count > scheme.utf8CodeUnitCount else { return nil }
    for index in 0..<scheme.utf8CodeUnitCount {
      // 0x20 sets letters to lower case and leaves the blank as it is.
      guard authorization[index] | 0x20 == scheme.utf8Start[index] else { return nil }
    }
    return authorization.dropping(scheme.utf8CodeUnitCount)
  }

  private mutating func permit(
    _ topic: UnsafeRawBufferPointer, key: Int
  ) -> (reason: Reason?, id: DeviceRegistry.TopicID) {
    if lastTopicKey == key, topic.matches(lastTopic) { return lastTopicVerdict }
    lastTopic = Array(topic)
    lastTopicKey = key
    if !Self.isTopic(topic) {
      lastTopicVerdict = (.badTopic, DeviceRegistry.anyTopic)
    } else if let allowed = verifier.keys[key].topics, !allowed.contains(lastTopic) {
      lastTopicVerdict = (.topicDisallowed, DeviceRegistry.anyTopic)
    } else {
      lastTopicVerdict = (nil, registry.topicID(lastTopic))
    }
    return lastTopicVerdict
  }

  /// Letters, digits, hyphens and periods, as bundle identifiers have them.
  private static func isTopic(_ topic: UnsafeRawBufferPointer) -> Bool {
    (1...longestTopic).contains(topic.count)
      && topic.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E: true
        default: false
        }
      }
  }

  private func look(
    _ token: UnsafeRawBufferPointer, topic: DeviceRegistry.TopicID, unknown: SimulatorKnobs.UnknownTokens
  ) -> (Reason?, Int64) {
    withUnsafeTemporaryAllocation(byteCount: Self.longestToken, alignment: 8) { buffer in
      guard let count = Hex.decode(token, into: buffer) else { return (.badDeviceToken, 0) }
      guard let record = registry.find(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else {
        return (unknown == .accept ? nil : .badDeviceToken, 0)
      }
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
