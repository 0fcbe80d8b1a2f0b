/// What a pool is doing just now; for logs, metrics and tests.
public struct PoolState: Sendable, Equatable {
  /// Connections on which APNs has accepted a push.
  public var open = 0
  /// Pushes sent without an answer yet.
  public var inFlight = 0
  /// Pushes not taken by any connection yet.
  public var backlog = 0
  /// Connections opened since the start.
  public var openings = 0
  /// Connections that could not be opened, or broke, since the start.
  public var failures = 0
  /// What went wrong last, in libcurl's words.
  public var lastError: String?
}
