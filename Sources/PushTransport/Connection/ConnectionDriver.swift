internal import PushCore

/// Life cycle of the connections of one engine, which has one usable connection at a time. The driver decides which
/// connection takes pushes, how many it takes, and when it is replaced. The type has no sockets, and time is an
/// argument.
///
///     closed ──mayOpen: open──► opening ──first acceptance──► established
///       ▲                          │                              │
///       └──────────replace─────────┴──────────────replace─────────┘      (also: drain)
///                     │
///                     └► ending: takes no more pushes; finished when its last push has ended
///
/// The engine executes the actions of ``next(_:credential:now:)`` until there is nothing to do, and reports events. The
/// transport supplies the facts: ``Loss``, ``ConnectionCondition``, ``StreamRoom``.
struct ConnectionDriver {
  /// Action for the engine.
  enum Action: Equatable {
    /// Do nothing until an event occurs.
    case rest
    /// Ask the supply (``PushSupply``) whether a connection may be opened, and call ``mayOpen(_:credential:)`` with the
    /// answer.
    case askToOpen
    /// Open a connection, which gets this serial number.
    case open(Int)
    /// Call the driver after this number of nanoseconds.
    case checkAgain(after: UInt64)
    /// Take at most this number of pushes from the supply for the current connection, and call
    /// ``recordHandover(_:now:)`` with the actual number.
    case take(upTo: Int)
    /// Replace the connection that has this serial number: give it no more pushes, and report the reason to the supply.
    case replace(Int, ConnectionEvent)
    /// Keep the connection, and report the error.
    case report(String)
  }

  /// Phase of the current connection.
  enum Phase: Equatable {
    /// No connection exists.
    case closed
    /// The connection is being opened, or is open and has not accepted a push yet.
    case opening
    /// The service accepted a push on the connection.
    case established
  }

  /// Window of the current connection.
  private(set) var window: CongestionWindow
  /// Phase of the current connection.
  private(set) var phase = Phase.closed
  /// Serial number of the current connection, or of the last one if there is none.
  private(set) var serial = 0
  /// Number of pushes that were handed to the current connection and have not ended.
  private(set) var inFlight = 0
  /// Whether the engine takes no more pushes.
  private(set) var isDraining = false

  /// Nanoseconds without pushes after which a connection is replaced instead of used again; `nil` for never.
  private let idleLimit: UInt64?
  private let policy: ConnectionPolicy
  /// Credential number of the current connection, see ``PushAuthorization/connection``.
  private var credential = 0
  private var accepted = 0
  private var handedAt: UInt64 = 0
  /// Time of the last use: when a push was handed over, when a push ended, or when the connection was opened.
  private var usedAt: UInt64 = 0
  /// Time at which the connection takes no more pushes, because of its age.
  private var expiresAt = UInt64.max
  /// Whether the connection had no room for another push at the last call of ``next(_:credential:now:)``.
  private var isFull = false
  /// Number of remaining pushes of each connection that takes no more pushes, by serial number.
  private var ending: [Int: Int] = [:]
  private var verdict = ConnectionVerdict()

  /// Maximum number of pushes that are taken from the supply at a time. Pushes in the supply can still be cancelled or
  /// overtaken.
  static let largestShare = 128

  init(window: CongestionWindow, idleLimit: UInt64?, policy: ConnectionPolicy = ConnectionPolicy()) {
    self.window = window
    self.idleLimit = idleLimit
    self.policy = policy
  }

  // MARK: The next action

  /// Returns whether the engine should ask for an authorization, because it can open a connection or take pushes. The
  /// call is cheap.
  func wantsPushes(_ room: StreamRoom) -> Bool {
    !isDraining && (phase == .closed || count(room) > 0)
  }

  /// Returns the next action. Call it only while the credential has an authorization.
  ///
  /// - Parameters:
  ///   - room: the room of the current connection.
  ///   - credential: the credential number for a new connection.
  mutating func next(_ room: StreamRoom, credential: Int, now: UInt64) -> Action {
    guard !isDraining else { return .rest }
    guard phase != .closed else { return .askToOpen }
    // The connection has an older key or certificate, is too old, or was idle for so long that a NAT or firewall on the
    // path may have dropped it.
    if self.credential != credential || isStale(now) || isOver(now) { return replace(.closed(accepted: accepted)) }
    let count = count(room)
    isFull = count <= 0 && isBusy(room)
    return count > 0 ? .take(upTo: count) : .rest
  }

  /// Handles the supply's decision about opening a connection.
  mutating func mayOpen(_ decision: ReconnectBudget.Decision?, credential: Int) -> Action {
    guard phase == .closed, !isDraining else { return .rest }
    switch decision {
    case nil: return .rest
    case .wait(let delay): return .checkAgain(after: delay)
    case .open:
      serial += 1
      phase = .opening
      inFlight = 0
      accepted = 0
      isFull = false
      self.credential = credential
      verdict = ConnectionVerdict()
      window.reset()
      return .open(serial)
    }
  }

  /// Records the time when the connection was created.
  ///
  /// - Parameter chance: random, 0 to 1; spreads the ends of connections with a maximum age.
  mutating func opened(now: UInt64, chance: Double) {
    usedAt = now
    expiresAt = policy.expiry(openedAt: now, chance: chance)
  }

  /// Replaces the current connection if it is too old or was idle for too long. Called at regular times, because a
  /// connection without pushes has no other event.
  mutating func checkAge(now: UInt64) -> Action {
    phase != .closed && isOver(now) ? replace(.closed(accepted: accepted)) : .rest
  }

  /// Whether all streams of the connection are busy, and latency is flat (``CongestionWindow/isFlat``). If so, another
  /// connection can send more pushes.
  var isSaturated: Bool { phase == .established && isFull && window.isFlat }

  /// Records that the connection could not be created.
  mutating func failedToOpen() { phase = .closed }

  /// Records that pushes were handed to the current connection.
  mutating func recordHandover(_ count: Int, now: UInt64) {
    inFlight += count
    handedAt = now
    usedAt = now
  }

  /// Resets the window to one push, because the whole service has a problem.
  mutating func limitToOnePush() { window.limitToOnePush() }

  // MARK: Ended pushes

  /// Records the answer to a push on the current connection.
  ///
  /// - Parameters:
  ///   - sentAt: time when the connection began to send the push, in monotonic nanoseconds.
  ///   - waiting: number of pushes that the connection has not begun to send.
  /// - Returns: whether this is the first accepted push on the connection.
  mutating func answered(
    _ signal: CongestionWindow.Signal, _ blame: AnswerMeaning.Blame, sentAt: UInt64, waiting: Int, now: UInt64
  ) -> Bool {
    end(signal, sentAt, waiting, now)
    verdict.record(blame)
    guard signal == .accepted else { return false }
    accepted += 1
    guard phase == .opening else { return false }
    phase = .established
    return true
  }

  /// Records that a push on the current connection got no answer, for a reason that concerns the connection.
  mutating func recordLoss(_ loss: Loss, sentAt: UInt64, waiting: Int, now: UInt64) {
    end(.failed, sentAt, waiting, now)
    verdict.record(loss, sentAt: sentAt, now: now)
  }

  /// Records that a push was returned for a reason that does not concern the connection, or on a connection that takes
  /// no more pushes.
  mutating func ended(on serial: Int) {
    if serial == self.serial, phase != .closed {
      inFlight -= 1
    } else {
      ending[serial]? -= 1
    }
  }

  private mutating func end(_ signal: CongestionWindow.Signal, _ sentAt: UInt64, _ waiting: Int, _ now: UInt64) {
    window.record(signal, sentAt: sentAt, now: now, inFlight: inFlight, waiting: waiting)
    inFlight -= 1
    usedAt = max(usedAt, now)
  }

  /// Decides about the current connection from its condition and from the pushes that have ended since the last call.
  ///
  /// - Parameter lossReason: the reason why the first push was lost; `nil` if none was lost.
  mutating func evaluate(_ condition: ConnectionCondition, lossReason: @autoclosure () -> String?) -> Action {
    guard phase != .closed else { return .rest }
    switch verdict.conclude(
      condition, lossReason: lossReason(), isEstablished: phase == .established, isNarrow: window.limit == 1)
    {
    case nil: return .rest
    case .pushesLost(let text): return .report(text)
    case .ended: return replace(.closed(accepted: accepted))
    case .broken(let text): return replace(.failed(text, accepted: accepted))
    }
  }

  // MARK: Draining

  /// Begins to drain: the engine takes no more pushes, and each connection ends with its last push.
  mutating func drain() -> Action {
    isDraining = true
    return phase == .closed ? .rest : replace(.closed(accepted: accepted))
  }

  /// Returns a connection that takes no more pushes and has no push left; `nil` for none. The engine must close it.
  /// Each connection is returned once.
  mutating func nextFinished() -> Int? {
    guard !ending.isEmpty, let finished = ending.first(where: { $0.value <= 0 }) else { return nil }
    ending[finished.key] = nil
    return finished.key
  }

  /// Whether no connection is left.
  var hasEnded: Bool { phase == .closed && ending.isEmpty }

  private mutating func replace(_ event: ConnectionEvent) -> Action {
    ending[serial] = inFlight
    phase = .closed
    inFlight = 0
    return .replace(serial, event)
  }

  // MARK: Room

  private func isStale(_ now: UInt64) -> Bool {
    guard let idleLimit, phase == .established, inFlight == 0 else { return false }
    return now >= handedAt + idleLimit
  }

  /// Returns whether the connection is too old, or was idle for too long, according to the policy of the service.
  private func isOver(_ now: UInt64) -> Bool {
    if now >= expiresAt { return true }
    guard let idle = policy.idleClose, inFlight == 0 else { return false }
    return now >= usedAt + idle
  }

  /// Returns whether a connection has no room because its streams are busy. A connection with a queue may also lack
  /// room because pushes wait in the queue. It counts as busy only if its whole window is in use.
  private func isBusy(_ room: StreamRoom) -> Bool {
    switch room {
    case .streams: inFlight > 0
    case .queue: inFlight >= window.limit
    }
  }

  private func count(_ room: StreamRoom) -> Int {
    switch room {
    case .streams(let count): min(window.limit - inFlight, count, Self.largestShare)
    case .queue(let waiting): window.room(inFlight: inFlight, waiting: waiting)
    }
  }
}

/// Number of pushes that a connection can take, as far as its transport knows it.
enum StreamRoom: Equatable {
  /// The connection can begin this number of pushes immediately.
  case streams(Int)
  /// The connection takes any number of pushes, and keeps the pushes that it can't begin in a queue. `waiting` is the
  /// present number in the queue.
  case queue(waiting: Int)
}
