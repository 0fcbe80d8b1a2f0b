internal import Glibc
public import PushCore
public import PushTransport
internal import Synchronization
public import TLS

/// Issues the provider tokens of one signing key: on a half-hour grid, the same claims in every worker of a fleet.
///
/// Safe to use from any thread; pools of the same key share one.
public final class ProviderTokenSource: PushCredential {
  /// Measures how many seconds the fleet's clock (Redis `TIME`) is ahead of this machine's; `nil` when it can't.
  public typealias MeasureOffset = @Sendable () async -> Int64?

  /// Seconds for which a token is kept after `TooManyProviderTokenUpdates`: APNs allows one change in 20 minutes.
  static let keptAfterTooMany: Int64 = 1200
  /// Seconds after which a token must not be kept any longer: APNs refuses it at an hour.
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
    /// Counts the keys.
    var keyGeneration = 0
    var offset: Int64 = 0
    var current: ProviderToken?
    /// Tokens issued so far; the number of the last is its generation.
    var issued = 0
    var phase = Phase.onGrid
    var observers: [@Sendable () -> Void] = []
  }

  private enum Phase: Equatable {
    case onGrid
    /// The current token stays until then, whatever the grid says.
    case kept(until: Int64)
    /// A token was refused as expired; the clock is being measured.
    case measuring
    /// Minted off the grid, because the grid's was refused as expired; stays until then.
    case offGrid(until: Int64)
    /// With what APNs said, where the reason has no name.
    case stopped(ReasonCode, words: String? = nil)
  }

  /// - Parameters:
  ///   - keyID: letters and digits; Apple's are ten.
  ///   - teamID: letters and digits; Apple's are ten.
  ///   - key: the `.p8`.
  ///   - clock: this machine's UNIX seconds.
  ///   - measureOffset: called when APNs finds a token expired: the clock may have been set, or Redis moved.
  /// - Throws: ``ProviderTokenError`` for ids that aren't.
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

  /// This machine's UNIX seconds.
  public static let systemClock: @Sendable () -> Int64 = { Int64(time(nil)) }

  /// Sets how many seconds the fleet's clock is ahead of this machine's.
  public func setOffset(_ seconds: Int64) {
    state.withLock { $0.offset = seconds }
  }

  /// Signs with another key from now on: the file was exchanged. Its tokens go over new connections, and a source that
  /// was stopped is tried again. Nothing happens when it is the same key.
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

  public func note(_ event: CredentialEvent) {
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
    return "\(words ?? Reason(reason).name); mend key, team or topic"
  }

  /// The token to send with now, minted if it is time; `nil` while the clock is measured and when stopped.
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

  /// Why no more tokens are issued; `nil` while they are.
  public var stopped: ReasonCode? {
    state.withLock { state in
      if case .stopped(let reason, _) = state.phase { reason } else { nil }
    }
  }

  /// APNs refuses the credential: issues no more tokens until ``resume()``.
  ///
  /// - Parameter generation: of the token that was refused; what is said of an earlier one may be its key's fault.
  private func refused(_ reason: ReasonCode, _ words: String?, generation: Int) {
    change { state in
      guard state.current?.generation == generation else { return }
      state.phase = .stopped(reason, words: words)
    }
  }

  /// Issues tokens again, as after a start.
  public func resume() {
    change { state in
      guard case .stopped = state.phase else { return }
      state.phase = .onGrid
      state.current = nil
    }
  }

  /// APNs found a token too old: measures the clock again and mints once off the grid; a second time stops.
  ///
  /// - Parameter generation: of the token that was refused; an older one than the current says nothing new.
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

  /// APNs saw too many tokens: keeps the current one as long as it lasts.
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

  /// Calls `body` whenever tokens are to be had again, or no more, on any thread.
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
      // OpenSSL failed on a key it had accepted: nothing can be sent with it.
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

/// An id that can't be part of a provider token.
public struct ProviderTokenError: Error, Equatable, Sendable, CustomStringConvertible {
  /// `keyID` or `teamID`.
  public var field: String
  /// What was given.
  public var value: String

  public var description: String {
    "\(field) “\(value)”: expected letters and digits, ten of them in Apple's; see Keys and Membership on developer.apple.com"
  }
}
