public import PushCore

/// Whether a pool is able to send, and if not, why and since when (monotonic nanoseconds). Pure.
///
/// For whoever lends credit to pools and tells people why a campaign doesn't proceed. One connection that gets answers is
/// enough to be ``ready``; so is a pool that has had nothing to do.
public enum PoolHealth: Sendable, Equatable {
  /// Nothing speaks against sending.
  case ready
  /// The first connection is being opened, or opened and its first push is not answered yet.
  case connecting(since: UInt64)
  /// No connection could be opened since then, or the one that there was broke; the text is for people.
  case unreachable(since: UInt64, reason: String)
  /// Connections are open and have pushes on their way, but no answer has come since then.
  case unresponsive(since: UInt64)
  /// The service answers nearly everything with 503: one push at a time finds out when that is over.
  case breakerOpen(since: UInt64)
  /// The service refuses the credential, or it has come to its end.
  case credentialStopped(ReasonCode)

  /// Whether pushes handed in now are likely to be sent.
  public var isReady: Bool { self == .ready }

  /// Nanoseconds without an answer, or a connection, after which a pool counts as unable to send. APNs answers within half a
  /// second, and TCP repeats what was lost after 0.2, 0.6 and 1.4 s (RFC 6298): two seconds are more than bad luck, and
  /// far less than the time-out of an answer, which is what ends the pushes concerned.
  public static let patience: UInt64 = 2_000_000_000

  /// What a pool knows of its ability to send.
  struct Facts {
    /// Why nothing is sent with the credential.
    var stopped: ReasonCode?
    /// When the circuit breaker opened; `nil` while it is closed.
    var breakerOpenSince: UInt64?
    var connections: [ConnectionState]
    /// When connections began to fail, and how the last did; `nil` from an answer on.
    var failure: (since: UInt64, reason: String)?
  }

  init(_ facts: Facts, now: UInt64, patience: UInt64 = PoolHealth.patience) {
    if let reason = facts.stopped {
      self = .credentialStopped(reason)
      return
    }
    if let since = facts.breakerOpenSince {
      self = .breakerOpen(since: since)
      return
    }
    let connections = facts.connections
    let hasAnswers = connections.contains { $0.answeredAt.map { now < $0 + patience } ?? false }
    let silence = connections.compactMap { $0.silentSince }.min()
    if hasAnswers {
      self = .ready
    } else if let silence, now >= silence + patience {
      self = .unresponsive(since: silence)
    } else if connections.contains(where: \.isAnswered) {
      self = .ready
    } else if let (since, reason) = facts.failure {
      self = .unreachable(since: since, reason: reason)
    } else if let since = connections.compactMap({ $0.phase == .opening ? $0.openedAt : nil }).min() {
      self = now < since + patience ? .connecting(since: since) : .unreachable(since: since, reason: "no answer yet")
    } else {
      self = .ready
    }
  }
}

extension ConnectionState {
  /// Whether anything sent on the open connection was answered, be it with a rejection.
  var isAnswered: Bool { phase == .established || answeredAt != nil }

  /// Since when pushes are on their way without an answer, on a connection that has worked.
  var silentSince: UInt64? { isAnswered && inFlight > 0 ? max(busySince, answeredAt ?? 0) : nil }
}
