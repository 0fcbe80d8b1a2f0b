public import PushCore

/// Congestion window: the number of pushes that may be in flight on one connection. The type does no I/O, and time is
/// an argument.
///
/// The window starts at one or at its maximum (``ConnectionPolicy/start``). A window of one becomes ``first`` after the
/// first acceptance. Then the window is evaluated once per round. A round ends with the first answer to a push that was
/// sent in this round. A round therefore takes one round trip, regardless of the window's width.
///
/// The algorithm is similar to the gradient of Netflix' concurrency-limits and to TCP Vegas. If answers take longer
/// than on an empty connection, pushes wait in a queue, and a wider window makes the queue longer. Each round widens
/// the window by a share of its width. This share doubles with each round while answers are fast. It is smaller if the
/// latency is near the limit of ``LatencyGauge``. Above this limit, the window does not grow.
///
/// If answers stay late, the cause may be a queue or a longer network path. Latencies alone can't distinguish the two.
/// As in BBR, the window is therefore reduced to a quarter for two round trips, so that a queue becomes empty. The
/// latency in this time is the latency of the path, and the window then becomes as wide as this path allows. Errors
/// narrow the window by half of the share of pushes that failed, as in DCTCP. If all pushes fail, the window halves
/// each round trip. A few errors have no effect (``ErrorShares``).
///
/// The latency is measured from the time when the connection began to send the push. The time that a push waits in this
/// process, for a free stream or for a turn, is not included, because it does not depend on the server.
public struct CongestionWindow: Sendable, Equatable {
  /// Meaning of an answer, or of a missing answer, for the connection.
  public enum Signal: Sendable, Equatable {
    /// The push was accepted.
    case accepted
    /// A rejection that concerns the push alone.
    case rejected
    /// Status 429. A single 429 concerns one device; many of them mean that the service is overloaded.
    case throttled
    /// Status 5xx: the server has a problem.
    case busy
    /// No answer: refused, reset or timed out.
    case failed

    /// Returns the meaning of an answer.
    init(_ answer: PushAnswer) {
      switch answer.status {
      case 429: self = .throttled
      case 500..<600: self = .busy
      default: self = answer.isAccepted ? .accepted : .rejected
      }
    }
  }

  /// State of a measurement with a narrow window, after answers remained late.
  private struct Measurement: Equatable {
    /// Width before the measurement.
    var width: Double
    /// Latency before the measurement, in nanoseconds.
    var latency: UInt64
    /// Whether the first round is over. In this round, the connection waits for the pushes that were in flight.
    var isSettled = false
  }

  /// Maximum width.
  public let maximum: Int
  /// Number of pushes that may be in flight now.
  public var limit: Int { Int(width.rounded()) }

  /// Whether latency is flat: the last round ended without errors and without late answers.
  public private(set) var isFlat = false

  /// Minimum width after the first acceptance.
  private let minimum: Double
  private let start: ConnectionPolicy.Start
  private var width = 1.0
  private var isTrusted = false
  /// Width at the end of the last connection on which a push was accepted.
  private var before = 0.0
  /// Share of the window's width by which the next round widens it.
  private var pace = 1.0
  private var round = AnswerRound()
  private var gauge = LatencyGauge()
  private var errors = ErrorShares()
  private var measurement: Measurement?

  /// Width after the first accepted push. Every path can carry this many pushes (RFC 6928 also begins with ten
  /// packets). Starting at 16 instead of 1 saves four round trips until the window reaches 1,000.
  private static let first = 16.0
  /// Minimum of ``pace``. It applies after a sign of congestion.
  private static let minimumPace = 1.0 / 16
  /// Width during a measurement, as a share of the width before the measurement. With a quarter of the width, the queue
  /// that ``LatencyGauge`` tolerates becomes empty. The latency then differs clearly from the latency with a full
  /// queue.
  private static let measurementShare = 0.25
  /// Threshold for the latency during a measurement, divided by the latency before it. A ratio near a quarter means a
  /// queue, and a ratio near one means a longer path. The threshold is above a quarter: if the queue becomes empty
  /// during the measurement, the ratio is greater than a quarter.
  private static let queueShare = 0.4
  /// Number of pushes that may always wait in the connection. Even with one stream, the next push is then ready when an
  /// answer arrives.
  private static let minimumWaiting = 4
  /// Maximum number of pushes that may wait in the connection. When the stream limit rises, these pushes begin
  /// immediately, and the next ones follow in the same turn.
  private static let maximumWaiting = 32

  /// - Parameter maximum: at least 1.
  public init(maximum: Int, start: ConnectionPolicy.Start = .onePush) {
    self.maximum = max(1, maximum)
    self.start = start
    minimum = 1
    if start == .fullWindow { width = Double(self.maximum) }
  }

  /// Creates a window with a constant width after the first acceptance, for comparison with the adaptive window in the
  /// benchmark.
  init(fixed width: Int) {
    maximum = max(1, width)
    minimum = Double(maximum)
    start = .onePush
  }

  /// Returns the number of further pushes that the connection may get.
  ///
  /// If no stream is free, libcurl keeps pushes in a queue. In this queue, no other push can overtake them, and no
  /// other connection can take them. libcurl therefore gets only a few more pushes than it can send immediately: half
  /// of the number that it has begun to send, but at least 4 and at most 32.
  ///
  /// - Parameters:
  ///   - inFlight: number of pushes that the connection was given and that were not answered.
  ///   - waiting: number of these pushes that the connection has not begun to send.
  public func room(inFlight: Int, waiting: Int) -> Int {
    min(limit - inFlight, min(max(Self.minimumWaiting, (inFlight - waiting) / 2), Self.maximumWaiting) - waiting)
  }

  /// Records the result of one push.
  ///
  /// - Parameters:
  ///   - sentAt: time when the connection began to send the push, in monotonic nanoseconds.
  ///   - now: time when the result of the push was seen, in monotonic nanoseconds.
  ///   - inFlight: number of pushes that the connection was given and that were not answered at that time, including
  ///     this one.
  ///   - waiting: number of these pushes that the connection had not begun to send.
  public mutating func record(_ signal: Signal, sentAt: UInt64, now: UInt64, inFlight: Int, waiting: Int) {
    let latency = now &- sentAt
    guard isTrusted else {
      // A window that starts at its maximum does not wait for an accepted push: any answer begins the rounds, which can
      // narrow the window.
      if signal == .accepted || start == .fullWindow && signal != .failed { trust(latency, now) }
      return
    }
    round.record(signal, latency: latency, inFlight: inFlight, waiting: waiting, width: width)
    if sentAt >= round.began { finishRound(now) }
  }

  /// Resets the window for a new connection. If the window starts at one, the first acceptance widens it to half of the
  /// width on the last connection, but at least to ``first``. Half of the width is the limit, because the new network
  /// path may be worse.
  public mutating func reset() {
    limitToOnePush()
    if start == .fullWindow { width = Double(maximum) }
  }

  /// Reduces the window to one push, even if connections start with a full window.
  mutating func limitToOnePush() {
    if isTrusted { before = measurement?.width ?? width }
    width = 1
    isTrusted = false
    isFlat = false
    pace = 1
    gauge = LatencyGauge()
    errors = ErrorShares()
    measurement = nil
  }

  private mutating func trust(_ latency: UInt64, _ now: UInt64) {
    isTrusted = true
    resize(max(width, Self.first, before / 2))
    round.restart(now)
    gauge = LatencyGauge(way: latency, now: now)
  }

  private mutating func finishRound(_ now: UInt64) {
    defer { round.restart(now) }
    isFlat = false
    let trouble = errors.add(round)
    if trouble > 0 {
      pace = Self.minimumPace
      measurement?.width *= 1 - trouble / 2
      resize(width * (1 - trouble / 2))
    }
    guard let latency = round.median() else { return }
    if measurement != nil { return settleMeasurement(latency, now) }
    switch gauge.record(latency, roundBegan: round.began, now: now) {
    case .flat(let headroom):
      guard trouble == 0 else { return }
      isFlat = true
      grow(headroom)
    case .late: pace = Self.minimumPace
    case .doubtful:
      pace = Self.minimumPace
      guard width > 1 else { return gauge.measured(latency, now: now) }
      measurement = Measurement(width: width, latency: latency)
      resize(width * Self.measurementShare)
    }
  }

  private mutating func grow(_ headroom: Double) {
    // If the connection did not use the full width, the round does not show whether a wider window is useful.
    guard round.accepted > 0, round.peak * 4 >= limit * 3 else { return }
    resize(width + max(1, width * pace) * headroom)
    pace = headroom >= 0.5 ? min(1, pace * 2) : max(Self.minimumPace, pace / 2)
  }

  private mutating func settleMeasurement(_ latency: UInt64, _ now: UInt64) {
    guard let ended = measurement else { return }
    guard ended.isSettled else {
      measurement?.isSettled = true
      return
    }
    measurement = nil
    // If there was a queue, a quarter of the pushes needs a quarter of the time.
    let isQueue = Double(latency) < Double(ended.latency) * Self.queueShare
    gauge.measured(isQueue ? nil : latency, now: now)
    // Little's law: the new width keeps the rate with no more pushes in flight than necessary.
    resize(ended.width * min(1, gauge.toleratedLatency / Double(max(1, ended.latency))))
  }

  private mutating func resize(_ width: Double) {
    self.width = min(max(width, minimum), Double(maximum))
  }
}
