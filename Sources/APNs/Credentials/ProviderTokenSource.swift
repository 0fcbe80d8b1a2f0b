internal import Glibc
public import PushCore
public import PushTransport
internal import Synchronization
public import TLS

/// A source of provider tokens for one signing key. Every half hour, all workers of a fleet sign a token with the same
/// claims (``ProviderTokenGrid``).
///
/// The source can be used from any thread. Connection pools with the same key share one source.
public final class ProviderTokenSource: PushCredential {
  /// Measures by how many seconds the fleet's clock (Redis `TIME`) is ahead of this machine's clock; `nil` if that
  /// fails.
  public typealias MeasureOffset = @Sendable () async -> Int64?

  /// Seconds for which the source keeps a token after `TooManyProviderTokenUpdates`: APNs allows one change in 20
  /// minutes.
  static let keptAfterTooMany: Int64 = 1200
  /// Maximum age of a token in seconds: five minutes less than the hour after which APNs refuses a token.
  static let oldest: Int64 = 3300

  /// The key's id, ten characters.
  public let keyID: String
  /// The team's id, ten characters.
  public let teamID: String

  private let clock: @Sendable () -> Int64
  private let measureOffset: MeasureOffset?
  private let state: Mutex<State>

  private struct State {
    var key: ECPrivateKey
    /// Number of key changes.
    var keyGeneration = 0
    var offset: Int64 = 0
    var current: ProviderToken?
    /// Number of issued tokens; also the generation of the last token.
    var issued = 0
    var phase = Phase.onGrid
    var observers: [@Sendable () -> Void] = []
  }

  private enum Phase: Equatable {
    case onGrid
    /// The source keeps the current token until this time in UNIX seconds, independent of the grid.
    case kept(until: Int64)
    /// APNs refused a token as expired, and the source measures the clock offset.
    case measuring
    /// APNs refused the token of the grid as expired. The source signed another token, whose time is outside the grid,
    /// and keeps that token until this time.
    case offGrid(until: Int64)
    /// The source issues no tokens because APNs refused the credential. `words` is the text of APNs if Carillon does
    /// not know the reason.
    case stopped(ReasonCode, words: String? = nil)
  }

  /// - Parameters:
  ///   - keyID: letters and digits; Apple's ids have ten.
  ///   - teamID: letters and digits; Apple's ids have ten.
  ///   - key: the key of the `.p8` file.
  ///   - clock: returns this machine's time in UNIX seconds.
  ///   - measureOffset: measures the clock offset. The source calls it again if APNs refuses a token as expired,
  ///     because this machine's clock or the Redis server may have changed.
  /// - Throws: ``ProviderTokenError`` for an invalid id.
  public init(
    keyID: String, teamID: String, key: ECPrivateKey,
    clock: @escaping @Sendable () -> Int64 = ProviderTokenSource.systemClock, measureOffset: MeasureOffset? = nil
  ) throws(ProviderTokenError) {
    for (name, id) in [("keyID", keyID), ("teamID", teamID)] {
      let isPlain = id.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"):
          true
        default: false
        }
      }
      guard isPlain, (1...64).contains(id.utf8.count) else { throw ProviderTokenError(field: name, value: id) }
    }
    self.keyID = keyID
    self.teamID = teamID
    self.clock = clock
    self.measureOffset = measureOffset
    state = Mutex(State(key: key))
  }

  /// Returns this machine's time in UNIX seconds.
  public static let systemClock: @Sendable () -> Int64 = { Int64(time(nil)) }

  /// Sets by how many seconds the fleet's clock is ahead of this machine's clock.
  public func setOffset(_ seconds: Int64) {
    state.withLock { $0.offset = seconds }
  }

  /// Replaces the signing key after a change of the key file. Tokens of the new key use new connections, and a stopped
  /// source issues tokens again. If the key is the same, nothing changes.
  public func replace(key: ECPrivateKey) {
    guard state.withLock({ $0.key.publicPEM }) != key.publicPEM else { return }
    change { state in
      state.key = key
      state.keyGeneration += 1
      state.phase = .onGrid
      state.current = nil
    }
  }

  public func authorization() -> PushAuthorization? { current().map { .token($0.bearer) } }

  public func record(_ event: CredentialEvent) {
    switch event {
    case .tokenExpired(let generation): expired(generation: generation)
    case .tooManyTokens(let generation): tooManyUpdates(generation: generation)
    case .refused(let reason, let words, let generation): refused(reason, words, generation: generation)
    case .accepted, .certificateRefused, .turnedAway: break
    }
  }

  public func explain(_ reason: ReasonCode) -> String {
    let words = state.withLock { state -> String? in if case .stopped(_, let words) = state.phase { words } else { nil }
    }
    return "\(words ?? Reason(reason).name); fix key, team or topic"
  }

  /// Returns the current token, and signs a new one when it is due. Returns `nil` while the clock is being measured and
  /// while the source is stopped.
  public func current() -> ProviderToken? {
    state.withLock { state in
      let now = clock() + state.offset
      switch state.phase {
      case .measuring, .stopped: return nil
      case .kept(let until), .offGrid(let until):
        if now < until, let current = state.current, now - current.issuedAt < Self.oldest { return current }
        state.phase = .onGrid
      case .onGrid: break
      }
      let issuedAt = ProviderTokenGrid.issuedAt(now: now, keyID: keyID)
      if let current = state.current, current.issuedAt == issuedAt { return current }
      return mint(issuedAt, &state)
    }
  }

  /// Reason why the source issues no tokens; `nil` while it issues them.
  public var stopped: ReasonCode? {
    state.withLock { state in
      if case .stopped(let reason, _) = state.phase { reason } else { nil }
    }
  }

  /// Stops the source until ``resume()``, because APNs refuses the credential.
  ///
  /// - Parameter generation: generation of the refused token. A refusal of an earlier token is ignored, because it may
  ///   concern an earlier key.
  private func refused(_ reason: ReasonCode, _ words: String?, generation: Int) {
    change { state in
      guard state.current?.generation == generation else { return }
      state.phase = .stopped(reason, words: words)
    }
  }

  /// Ends a stop: the source issues tokens again, as after its start.
  public func resume() {
    change { state in
      guard case .stopped = state.phase else { return }
      state.phase = .onGrid
      state.current = nil
    }
  }

  /// Handles a token that APNs refused as expired: measures the clock offset and signs one token whose time is outside
  /// the grid. A second refusal stops the source.
  ///
  /// - Parameter generation: generation of the refused token. A refusal of an older token than the current one is
  ///   ignored.
  func expired(generation: Int) {
    let measures = state.withLock { state -> Bool in
      guard state.current?.generation == generation else { return false }
      switch state.phase {
      case .measuring, .stopped: return false
      case .offGrid:
        state.phase = .stopped(Reason.expiredProviderToken.code)
        return false
      case .onGrid, .kept:
        state.phase = .measuring
        return true
      }
    }
    guard measures else { return notify() }
    guard let measureOffset else { return mintOffGrid(offset: nil) }
    Task { mintOffGrid(offset: await measureOffset()) }
  }

  /// Handles `TooManyProviderTokenUpdates`: keeps the current token for 20 minutes, but not beyond its maximum age.
  func tooManyUpdates(generation: Int) {
    state.withLock { state in
      guard let current = state.current, current.generation == generation else { return }
      let until = clock() + state.offset + Self.keptAfterTooMany
      switch state.phase {
      case .onGrid, .kept: state.phase = .kept(until: until)
      case .offGrid(let end): state.phase = .offGrid(until: max(end, until))
      case .measuring, .stopped: break
      }
    }
  }

  /// Calls `body` on any thread whenever the source starts or stops issuing tokens.
  public func observe(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.observers.append(body) }
  }

  private func mintOffGrid(offset: Int64?) {
    change { state in
      guard state.phase == .measuring else { return }
      if let offset { state.offset = offset }
      let now = clock() + state.offset
      state.phase = .offGrid(until: now + ProviderTokenGrid.period)
      _ = mint(now, &state)
    }
  }

  private func mint(_ issuedAt: Int64, _ state: inout State) -> ProviderToken? {
    state.issued += 1
    do {
      state.current = try ProviderToken(
        keyID: keyID, teamID: teamID, issuedAt: issuedAt, generation: state.issued, key: state.key,
        keyGeneration: state.keyGeneration)
      return state.current
    } catch {
      // OpenSSL failed with a key that it had accepted, so no push can be sent with this key.
      state.phase = .stopped(Reason.invalidProviderToken.code)
      return nil
    }
  }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { body(&$0) }
    notify()
  }

  private func notify() {
    for observer in state.withLock({ $0.observers }) { observer() }
  }
}

/// An id that can't be in a provider token.
public struct ProviderTokenError: Error, Equatable, Sendable, CustomStringConvertible {
  /// `keyID` or `teamID`.
  public var field: String
  /// The given value.
  public var value: String

  public var description: String {
    "\(field) “\(value)”: expected letters and digits, ten of them in Apple's; see Keys and Membership on developer.apple.com"
  }
}
