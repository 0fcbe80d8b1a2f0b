/// Who speaks on one connection: holds what the connection is bound to, and remembers the last provider token, because
/// nearly every request repeats it. Pure but for what it shares with other connections; time is passed in.
struct ConnectionAuthentication {
  /// Who a request is from.
  enum Speaker: Equatable {
    /// The holder of the verifier's key of this number.
    case key(Int)
    /// The holder of the connection's certificate.
    case certificate
  }

  enum Verdict {
    case genuine(Speaker)
    case refused(Reason)
  }

  /// What its client showed when it connected; provider tokens mean nothing then (Apple, "Establishing a
  /// certificate-based connection to APNs").
  let certificate: PushCertificate?

  private let verifier: ProviderTokenVerifier
  private let updatesByAddress: TokenUpdatesByAddress
  private let environment: SimulatorEnvironment
  private let address: String
  private var updates = TokenUpdates()
  private var lastAuthorization: [UInt8] = []
  private var lastVersion = 0
  private var lastVerified: ProviderTokenVerifier.Verified?
  private var boundKey: Int?

  /// - Parameters:
  ///   - shared: the keys, the environment, and who else updates tokens.
  ///   - certificate: what the client showed.
  ///   - address: where the client is.
  init(_ shared: SharedState, certificate: PushCertificate?, address: String) {
    verifier = shared.verifier
    updatesByAddress = shared.tokenUpdates
    environment = shared.configuration.environment
    self.certificate = certificate
    self.address = address
  }

  /// - Parameters:
  ///   - authorization: the field's value.
  ///   - now: seconds since 1970, by the simulator's clock.
  mutating func judge(_ authorization: UnsafeRawBufferPointer?, by rules: Rules, now: Int64) -> Verdict {
    if let certificate {
      let isHere = certificate.environments.contains(environment)
      return isHere ? .genuine(.certificate) : .refused(.badCertificateEnvironment)
    }
    guard let authorization, let token = Self.bearer(authorization) else { return .refused(.missingProviderToken) }
    if rules.version != lastVersion || !authorization.matches(lastAuthorization) {
      guard mayUpdate(to: Array(token), by: rules.knobs, now: now) else {
        return .refused(.tooManyProviderTokenUpdates)
      }
      lastAuthorization = Array(authorization)
      lastVersion = rules.version
      lastVerified = verifier.verify(Array(token), by: rules)
    }
    guard let verified = lastVerified else { return .refused(.invalidProviderToken) }
    let age = now - verified.issuedAt
    if age > rules.knobs.providerTokenSeconds { return .refused(.expiredProviderToken) }
    // Undocumented for a token from the future; a clock that is an hour ahead is no clock.
    if age < -rules.knobs.providerTokenSeconds { return .refused(.invalidProviderToken) }
    if boundKey == verified.key { return .genuine(.key(verified.key)) }
    if let reason = bind(to: verified.key) { return .refused(reason) }
    return .genuine(.key(verified.key))
  }

  private mutating func mayUpdate(to token: [UInt8], by knobs: SimulatorKnobs, now: Int64) -> Bool {
    guard knobs.tokenUpdateSeconds > 0 else { return true }
    guard updates.admit(token, interval: knobs.tokenUpdateSeconds, now: now) else { return false }
    return !knobs.limitsTokenUpdatesByAddress
      || updatesByAddress.admit(token, from: address, interval: knobs.tokenUpdateSeconds, now: now)
  }

  /// The first key binds the connection; others must belong with it (reference 2.4).
  private mutating func bind(to key: Int) -> Reason? {
    let new = verifier.keys[key]
    if let environment = new.environment, environment != self.environment { return .badEnvironmentKeyID }
    guard let boundKey else {
      self.boundKey = key
      return nil
    }
    let first = verifier.keys[boundKey]
    if first.teamID != new.teamID { return .invalidProviderToken }
    if first.topics == nil, new.topics == nil { return nil }
    // Two keys of topics are one when their team said so: that is how one is replaced by the next.
    let isRelated = first.related.contains(new.keyID) || new.related.contains(first.keyID)
    return isRelated ? nil : .unrelatedKeyID
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
}
