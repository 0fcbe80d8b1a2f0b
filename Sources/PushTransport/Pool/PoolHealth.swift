public import PushCore

/// Whether a pool can send; if not, the reason and the start time of the problem in monotonic nanoseconds.
///
/// Workers use the health to allocate credit to pools and to report why a campaign waits. A pool is ``ready`` if one
/// connection gets answers, or if it has had nothing to do. An open connection without pushes does not count while
/// pushes wait for another one that can't be opened, such as the connection for unproven pushes: libcurl does not notice
/// the end of a connection without pushes.
public enum PoolHealth: Sendable, Equatable {
  /// Nothing prevents sending.
  case ready
  /// The first connection is being opened, or its first push is not answered yet.
  case connecting(since: UInt64)
  /// Connections can't be opened, or break, since this time. `reason` is a text for people.
  case unreachable(since: UInt64, reason: String)
  /// Connections are open and have pushes in flight, but no answer has arrived since this time.
  case unresponsive(since: UInt64)
  /// The service answers almost every push with server errors. Trial pushes detect the end of this state.
  case breakerOpen(since: UInt64)
  /// The service refuses the credential, or the credential has expired.
  case credentialStopped(ReasonCode)
  /// The credential has had no authorization since this time, and retries automatically. `reason` is a text for people.
  case credentialDelayed(since: UInt64, reason: String)

  /// Nanoseconds without an answer or a connection after which a pool counts as unable to send. APNs answers within
  /// half a second, and TCP repeats lost segments after 0.2, 0.6 and 1.4 s (RFC 6298). Two seconds without an answer
  /// are therefore not chance. This is far less than the answer timeout of a push.
  static let timeout: UInt64 = 2_000_000_000

  /// The facts from which a pool's health is computed.
  struct Facts {
    /// Reason why the credential is stopped; `nil` if it is not.
    var stopped: ReasonCode?
    /// Time since which the credential has no authorization, and the problem; `nil` if it has one.
    var delay: (since: UInt64, reason: String)?
    /// Time when the circuit breaker opened; `nil` while it is closed.
    var breakerOpenSince: UInt64?
    var connections: [ConnectionState]
    /// Time when connections began to fail, and the last error; `nil` after an answer.
    var failure: (since: UInt64, reason: String)?
    /// Time since which pushes have waited for a connection, and no answer has arrived; `nil` if none waits.
    var waitingSince: UInt64?
  }

  init(_ facts: Facts, now: UInt64) {
    if let reason = facts.stopped {
      self = .credentialStopped(reason)
      return
    }
    if let (since, reason) = facts.delay {
      self = .credentialDelayed(since: since, reason: reason)
      return
    }
    if let since = facts.breakerOpenSince {
      self = .breakerOpen(since: since)
      return
    }
    let connections = facts.connections
    let hasAnswers = connections.contains { $0.answeredAt.map { now < $0 + Self.timeout } ?? false }
    let silence = connections.compactMap { $0.silentSince }.min()
    if hasAnswers {
      self = .ready
    } else if let silence, now >= silence + Self.timeout {
      self = .unresponsive(since: silence)
    } else if let waitingSince = facts.waitingSince, let (since, reason) = facts.failure,
      now >= max(since, waitingSince) + Self.timeout
    {
      self = .unreachable(since: since, reason: reason)
    } else if connections.contains(where: \.isAnswered) {
      self = .ready
    } else if let (since, reason) = facts.failure {
      self = .unreachable(since: since, reason: reason)
    } else if let since = connections.compactMap({ $0.phase == .opening ? $0.openedAt : nil }).min() {
      self =
        now < since + Self.timeout ? .connecting(since: since) : .unreachable(since: since, reason: "no answer yet")
    } else {
      self = .ready
    }
  }
}

extension ConnectionState {
  /// Whether any push on the open connection was answered, even with a rejection.
  var isAnswered: Bool { phase == .established || answeredAt != nil }

  /// Time since which pushes are in flight without an answer, on a connection that has worked.
  var silentSince: UInt64? { isAnswered && inFlight > 0 ? max(busySince, answeredAt ?? 0) : nil }
}
