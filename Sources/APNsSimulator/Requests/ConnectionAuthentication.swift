/// Authentication state of one connection: its certificate or key, and the last provider token. The token is cached
/// because nearly every request repeats it. The type changes only itself and the state that connections share. The
/// caller supplies the time.
struct ConnectionAuthentication {
  /// The sender of a request.
  enum Sender: Equatable {
    /// The holder of a signing key. The value is the number of the key in ``ProviderTokenVerifier``.
    case key(Int)
    /// The holder of the connection's certificate.
    case certificate
  }

  enum Verdict {
    case genuine(Sender)
    case refused(Reason)
  }

  /// The client's certificate. With a certificate, provider tokens are ignored (Apple, "Establishing a
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
  ///   - shared: the keys, the environment and the token updates of other connections.
  ///   - certificate: the client's certificate.
  ///   - address: the client's address.
  init(_ shared: SharedState, certificate: PushCertificate?, address: String) {
    verifier = shared.verifier
    updatesByAddress = shared.tokenUpdates
    environment = shared.configuration.environment
    self.certificate = certificate
    self.address = address
  }

  /// Returns who has sent a request, or the reason to refuse it.
  ///
  /// - Parameters:
  ///   - authorization: the field's value.
  ///   - now: seconds since 1970 on the simulator's clock.
  mutating func authenticate(_ authorization: UnsafeRawBufferPointer?, by rules: Rules, now: Int64) -> Verdict {
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
    // The behaviour for a token from the future is undocumented. A clock that is an hour ahead is wrong, so the token
    // is invalid.
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

  /// Binds the connection to its first signing key. Every later key on the connection must be the same key or related
  /// to it.
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
    // Two keys for certain topics are related if one of them names the other. This allows a team to replace one key by
    // another.
    let isRelated = first.related.contains(new.keyID) || new.related.contains(first.keyID)
    return isRelated ? nil : .unrelatedKeyID
  }

  /// Returns the token after the scheme, which ignores case (RFC 9110 section 11.1); `nil` without the scheme.
  private static func bearer(_ authorization: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    let scheme: StaticString = "bearer "
    guard authorization.count > scheme.utf8CodeUnitCount else { return nil }
    for index in 0..<scheme.utf8CodeUnitCount {
      // 0x20 sets letters to lower case and keeps the blank.
      guard authorization[index] | 0x20 == scheme.utf8Start[index] else { return nil }
    }
    return authorization.dropping(scheme.utf8CodeUnitCount)
  }
}
