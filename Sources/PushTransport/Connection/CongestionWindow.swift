internal import PushCore

/// How many pushes may be on their way on one connection at once. Pure: time is an argument.
///
/// Starts at one, as APNs asks of a connection with a provider token (Apple, "Establishing a token-based connection to
/// APNs"), and has ``first`` from the first acceptance on. After that it is looked at once a round: a round ends when
/// what was sent after its beginning comes back, so it is a round trip, however wide the window.
///
/// The idea is the gradient of Netflix' concurrency-limits and of TCP Vegas: answers that take longer than on an empty
/// connection stand in a queue, and a wider window only makes that longer. A round widens the window by a share that
/// doubles from round to round while there is nothing against it, less the nearer answers come to what
/// ``LatencyGauge`` puts up with; beyond that the window stays. Answers that remain late may mean a queue or a longer
/// way, and looking at them doesn't tell which. So, as in BBR, the window is narrowed for two round trips: what answers
/// take then is the way, and the window goes back to what fits it. Errors narrow it by half their share, as in DCTCP:
/// when all fail it halves each round trip, and a few are noise (``ErrorShares``).
///
/// Only the time from the moment the connection began to send counts: what waits in this process, for the peer's stream
/// limit or for a turn, says nothing of the server.
public struct CongestionWindow: Sendable, Equatable {
  /// What an answer, or its absence, says about the connection.
  public enum Signal: Sendable, Equatable {
    /// The push was accepted.
    case accepted
    /// A rejection that concerns the push alone.
    case rejected
    /// 429: one concerns a single device, many mean that the service has had enough.
    case throttled
    /// 5xx: the server is in trouble.
    case busy
    /// No answer: refused, reset, timed out.
    case failed

    /// What an answer says.
    init(_ answer: PushAnswer) {
      switch answer.status {
      case 429: self = .throttled
      case 500..<600: self = .busy
      default: self = answer.isAccepted ? .accepted : .rejected
      }
    }
  }

  /// The width while answers that remain late are looked into.
  private struct Measurement: Equatable {
    /// Before.
    var width: Double
    /// What answers took before, in nanoseconds.
    var latency: UInt64
    /// The first round only ends what was under way.
    var isSettled = false
  }

  /// The width never exceeds this.
  public let maximum: Int
  /// Pushes that may be on their way now.
  public var limit: Int { Int(width.rounded()) }

  /// What it never goes below, once a push was accepted.
  private let minimum: Double
  private var width = 1.0
  private var isTrusted = false
  /// The width on the last connection that accepted a push.
  private var before = 0.0
  /// The share by which the next round widens it.
  private var pace = 1.0
  private var round = AnswerRound()
  private var gauge = LatencyGauge()
  private var errors = ErrorShares()
  private var measurement: Measurement?

  /// The width from the first acceptance on: what any path carries (RFC 6928 begins with ten packets as well), and four
  /// round trips less to a thousand.
  private static let first = 16.0
  /// Growth after something spoke against it.
  private static let leastPace = 1.0 / 16
  /// A quarter empties what ``LatencyGauge`` lets stand in a queue, and is told from all of it beyond doubt.
  private static let measurementShare = 0.25
  /// Between a quarter, which is a queue, and one, which is the way; nearer the quarter, because it may have emptied.
  private static let queueShare = 0.4
  /// Pushes handed over but not begun, at least: with one stream the next is ready when an answer comes.
  private static let leastWaiting = 4
  /// And at most: so many begin at once when the limit rises, and the next follow in the same turn.
  private static let mostWaiting = 32

  /// - Parameter maximum: at least 1.
  public init(maximum: Int) {
    self.maximum = max(1, maximum)
    minimum = 1
  }

  /// A window that is always as wide, from the first acceptance on: what the adaptive one is measured against.
  init(fixed width: Int) {
    maximum = max(1, width)
    minimum = Double(maximum)
  }

  /// How many more pushes to hand over.
  ///
  /// What the peer's stream limit holds back waits in libcurl, where nothing can overtake it and no other connection can
  /// take it; so it gets no more than is sent at once as soon as there is room.
  ///
  /// - Parameters:
  ///   - inFlight: pushes handed over and not answered.
  ///   - waiting: of them, those that the connection has not begun to send.
  public func room(inFlight: Int, waiting: Int) -> Int {
    min(limit - inFlight, min(max(Self.leastWaiting, (inFlight - waiting) / 2), Self.mostWaiting) - waiting)
  }

  /// Takes note of what became of one push.
  ///
  /// - Parameters:
  ///   - sentAt: when the connection began to send it, in monotonic nanoseconds.
  ///   - now: when its end was seen.
  ///   - inFlight: pushes handed over and not answered at that time, this one included.
  ///   - waiting: of them, those that the connection had not begun to send.
  public mutating func note(_ signal: Signal, sentAt: UInt64, now: UInt64, inFlight: Int, waiting: Int) {
    let latency = now &- sentAt
    guard isTrusted else {
      if signal == .accepted { trust(latency, now) }
      return
    }
    round.note(signal, latency: latency, inFlight: inFlight, waiting: waiting, width: width)
    if sentAt >= round.began { finishRound(now) }
  }

  /// A new connection: one push again until it is accepted, then half of what the last one had. The way may be another.
  public mutating func reset() {
    if isTrusted { before = measurement?.width ?? width }
    width = 1
    isTrusted = false
    pace = 1
    gauge = LatencyGauge()
    errors = ErrorShares()
    measurement = nil
  }

  private mutating func trust(_ latency: UInt64, _ now: UInt64) {
    isTrusted = true
    resize(max(Self.first, before / 2))
    round.restart(now)
    gauge = LatencyGauge(way: latency, now: now)
  }

  private mutating func finishRound(_ now: UInt64) {
    defer { round.restart(now) }
    let trouble = errors.add(round)
    if trouble > 0 {
      pace = Self.leastPace
      measurement?.width *= 1 - trouble / 2
      resize(width * (1 - trouble / 2))
    }
    guard let latency = round.median() else { return }
    if measurement != nil { return settleMeasurement(latency, now) }
    switch gauge.record(latency, roundBegan: round.began, now: now) {
    case .flat(let headroom): if trouble == 0 { grow(headroom) }
    case .late: pace = Self.leastPace
    case .doubtful:
      pace = Self.leastPace
      guard width > 1 else { return gauge.measured(latency, now: now) }
      measurement = Measurement(width: width, latency: latency)
      resize(width * Self.measurementShare)
    }
  }

  private mutating func grow(_ headroom: Double) {
    // What wasn't filled wasn't tried.
    guard round.accepted > 0, round.peak * 4 >= limit * 3 else { return }
    resize(width + max(1, width * pace) * headroom)
    pace = headroom >= 0.5 ? min(1, pace * 2) : max(Self.leastPace, pace / 2)
  }

  private mutating func settleMeasurement(_ latency: UInt64, _ now: UInt64) {
    guard let ended = measurement else { return }
    guard ended.isSettled else {
      measurement?.isSettled = true
      return
    }
    measurement = nil
    // In a queue, a quarter of the pushes take a quarter of the time.
    let isQueue = Double(latency) < Double(ended.latency) * Self.queueShare
    gauge.measured(isQueue ? nil : latency, now: now)
    // Little's law: the same rate, with no more under way than that needs.
    resize(ended.width * min(1, gauge.bearable / Double(max(1, ended.latency))))
  }

  private mutating func resize(_ width: Double) {
    self.width = min(max(width, minimum), Double(maximum))
  }
}
