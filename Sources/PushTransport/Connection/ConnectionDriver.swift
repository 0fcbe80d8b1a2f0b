internal import PushCore

/// The life of the connections of one engine: which takes pushes and how many, and when another takes its place. Pure: no
/// sockets, and time is an argument.
///
///     closed ──mayOpen: open──► opening ──first acceptance──► established
///       ▲                          │                              │
///       └──────────replace─────────┴──────────────replace─────────┘      (also: drain)
///                     │
///                     └► ending: takes no more pushes; finished when the last of its own has ended
///
/// Whoever drives it executes ``next(_:credential:now:)`` until there is nothing to do, and tells what has happened. Facts
/// that only one transport can know come in as they are: ``Loss``, ``ConnectionCondition``, ``StreamRoom``.
struct ConnectionDriver {
  /// What is to be done.
  enum Action: Equatable {
    /// Nothing, until something happens.
    case rest
    /// Ask the supply whether a connection may be opened; ``mayOpen(_:credential:)`` takes the answer.
    case askToOpen
    /// Open the connection of this serial number.
    case open(Int)
    /// Ask again after so many nanoseconds.
    case lookAgain(after: UInt64)
    /// Take at most so many pushes from the supply for the current connection; ``took(_:now:)`` is told how many there were.
    case take(upTo: Int)
    /// The connection of this serial number takes no more pushes; the supply is to be told why.
    case replace(Int, ConnectionEvent)
    /// The connection goes on, but somebody may want to know what went wrong.
    case report(String)
  }

  /// How far the current connection has come.
  enum Phase: Equatable {
    /// There is none.
    case closed
    /// Being opened, or open without an accepted push yet.
    case opening
    /// A push was accepted on it.
    case established
  }

  /// How many pushes may be on their way on the current connection.
  private(set) var window: CongestionWindow
  /// How far the current connection has come.
  private(set) var phase = Phase.closed
  /// Names the current connection, or the last one if there is none.
  private(set) var serial = 0
  /// Pushes handed to the current connection that have not ended.
  private(set) var inFlight = 0
  /// Whether no push is taken any more.
  private(set) var isDraining = false

  /// A connection without pushes for so many nanoseconds is replaced before it is used; `nil` if never.
  private let idleLimit: UInt64?
  /// What the current connection was opened with, see ``PushAuthorization/connection``.
  private var credential = 0
  private var accepted = 0
  private var handedAt: UInt64 = 0
  /// Connections that only wait for their last pushes to end, and for how many.
  private var ending: [Int: Int] = [:]
  private var verdict = ConnectionVerdict()

  /// Pushes taken from the supply at once: what is not taken can be taken back, and overtaken.
  static let largestShare = 128

  init(window: CongestionWindow, idleLimit: UInt64?) {
    self.window = window
    self.idleLimit = idleLimit
  }

  // MARK: What is next

  /// Whether it is worth asking with what to send: cheap.
  func wantsPushes(_ room: StreamRoom) -> Bool {
    !isDraining && (phase == .closed || count(room) > 0)
  }

  /// What is to be done next, now that there is something to send with.
  ///
  /// - Parameters:
  ///   - room: of the current connection.
  ///   - credential: what a connection opened now would be opened with.
  mutating func next(_ room: StreamRoom, credential: Int, now: UInt64) -> Action {
    guard !isDraining else { return .rest }
    guard phase != .closed else { return .askToOpen }
    // Of an older key or certificate, or for so long without a push that what is on the way may have forgotten it.
    if self.credential != credential || isStale(now) { return replace(.closed(accepted: accepted)) }
    let count = count(room)
    return count > 0 ? .take(upTo: count) : .rest
  }

  /// The supply has said whether a connection may be opened.
  mutating func mayOpen(_ decision: ReconnectBudget.Decision?, credential: Int) -> Action {
    guard phase == .closed, !isDraining else { return .rest }
    switch decision {
    case nil: return .rest
    case .wait(let delay): return .lookAgain(after: delay)
    case .open:
      serial += 1
      phase = .opening
      inFlight = 0
      accepted = 0
      self.credential = credential
      verdict = ConnectionVerdict()
      window.reset()
      return .open(serial)
    }
  }

  /// The connection could not even be made.
  mutating func failedToOpen() { phase = .closed }

  /// Pushes were handed to the current connection.
  mutating func took(_ count: Int, now: UInt64) {
    inFlight += count
    handedAt = now
  }

  /// The window begins at one again: the service as a whole is in trouble.
  mutating func startSmall() { window.reset() }

  // MARK: What has ended

  /// A push on the current connection was answered.
  ///
  /// - Parameters:
  ///   - sentAt: when the connection began to send it.
  ///   - waiting: pushes that it has not begun to send.
  /// - Returns: whether it is the first that was accepted.
  mutating func answered(
    _ signal: CongestionWindow.Signal, _ blame: AnswerMeaning.Blame, sentAt: UInt64, waiting: Int, now: UInt64
  ) -> Bool {
    end(signal, sentAt, waiting, now)
    verdict.note(blame)
    guard signal == .accepted else { return false }
    accepted += 1
    guard phase == .opening else { return false }
    phase = .established
    return true
  }

  /// A push on the current connection got no answer, which says something of the connection.
  mutating func lost(_ loss: Loss, sentAt: UInt64, waiting: Int, now: UInt64) {
    end(.failed, sentAt, waiting, now)
    verdict.note(loss, sentAt: sentAt, now: now)
  }

  /// A push on a connection came back, which says nothing of the connection, or the connection takes no more anyway.
  mutating func ended(on serial: Int) {
    if serial == self.serial, phase != .closed {
      inFlight -= 1
    } else {
      ending[serial]? -= 1
    }
  }

  private mutating func end(_ signal: CongestionWindow.Signal, _ sentAt: UInt64, _ waiting: Int, _ now: UInt64) {
    window.note(signal, sentAt: sentAt, now: now, inFlight: inFlight, waiting: waiting)
    inFlight -= 1
  }

  /// Draws the conclusion for the current connection from its condition and from what has ended on it since the last look.
  ///
  /// - Parameter trouble: why the first push was lost, in words, if any was.
  mutating func settle(_ condition: ConnectionCondition, trouble: @autoclosure () -> String?) -> Action {
    guard phase != .closed else { return .rest }
    switch verdict.conclude(
      condition, trouble: trouble(), isEstablished: phase == .established, isNarrow: window.limit == 1)
    {
    case nil: return .rest
    case .trouble(let text): return .report(text)
    case .ended: return replace(.closed(accepted: accepted))
    case .broken(let text): return replace(.failed(text, accepted: accepted))
    }
  }

  // MARK: The end

  /// No more pushes are taken.
  mutating func drain() -> Action {
    isDraining = true
    return phase == .closed ? .rest : replace(.closed(accepted: accepted))
  }

  /// The next connection that nothing is left on, to be closed; it is told once.
  mutating func nextFinished() -> Int? {
    guard !ending.isEmpty, let finished = ending.first(where: { $0.value <= 0 }) else { return nil }
    ending[finished.key] = nil
    return finished.key
  }

  /// Whether there is no connection left.
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

  private func count(_ room: StreamRoom) -> Int {
    switch room {
    case .streams(let count): min(window.limit - inFlight, count, Self.largestShare)
    case .queue(let waiting): window.room(inFlight: inFlight, waiting: waiting)
    }
  }
}

/// What a connection has room for, as far as its transport knows.
enum StreamRoom: Equatable {
  /// It can begin so many pushes at once.
  case streams(Int)
  /// It takes any number and keeps what it can't begin; so many are kept now.
  case queue(waiting: Int)
}
