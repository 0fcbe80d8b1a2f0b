/// Monitor for a peer that has become silent: it decides when to send a PING (RFC 9113 section 6.7) and when the
/// connection is dead. The type does no I/O; time is an argument, in monotonic nanoseconds.
struct PeerMonitor {
  /// Action for the connection.
  enum Action: Equatable {
    case none
    /// Send a PING.
    case ping
    /// The peer has not answered a PING in time.
    case dead
  }

  /// Time when the last bytes of the peer arrived.
  private(set) var receivedAt: UInt64 = 0
  private var pingedAt: UInt64?
  /// Number of PINGs since the last request.
  private var pings = 0

  /// Records that bytes of the peer have arrived, or that the peer has accepted the connection.
  mutating func received(now: UInt64) { receivedAt = now }

  /// Records that requests were sent.
  mutating func requested() { pings = 0 }

  /// Returns the next action.
  ///
  /// - Parameters:
  ///   - isBusy: whether pushes wait for answers.
  ///   - limits: durations of silence.
  ///   - maximumPings: see ``PushCore/ConnectionPolicy/maximumPings``. Without a PING, the answer timeout of pushes
  ///     detects a dead connection.
  mutating func next(
    isBusy: Bool, _ limits: NativeConnection.Liveness, maximumPings: Int?, now: UInt64
  ) -> Action {
    if let pingedAt {
      if receivedAt >= pingedAt {
        self.pingedAt = nil
      } else if now - pingedAt >= limits.answer {
        return .dead
      }
      return .none
    }
    let limit = isBusy ? limits.busy : limits.idle
    guard now > receivedAt, now - receivedAt >= limit, pings < maximumPings ?? .max else { return .none }
    pings += 1
    pingedAt = now
    return .ping
  }
}
