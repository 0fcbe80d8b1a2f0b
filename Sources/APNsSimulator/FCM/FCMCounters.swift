/// Counts of the FCM side since its start or the last reset: the member `fcm` of ``SimulatorCounters``.
public struct FCMCounters: Codable, Equatable, Sendable {
  /// Requests to FCM received in full.
  public var received = 0
  /// Requests answered with 200.
  public var accepted = 0
  /// Accepted requests with `validate_only`. They deliver nothing.
  public var validated = 0
  /// Requests with an answer other than 200, by error code, reason or status, including injected errors.
  public var errors: [String: Int] = [:]
  /// Accepted messages whose device had already got a message with the same data key or tag.
  public var duplicates = 0
  /// Accepted messages that FCM would delay, because their device got too many collapsible messages.
  public var delayed = 0
  /// Access tokens that were issued.
  public var mints = 0
  /// Refused requests to the token endpoint, by `error` or status.
  public var mintErrors: [String: Int] = [:]
  /// Connections to FCM that completed their handshake.
  public var connections = 0
  /// GOAWAYs sent on purpose.
  public var goAways = 0
  /// Streams that ended before their answer was sent.
  public var abandonedStreams = 0
  /// The largest number of streams that were open on one connection.
  public var maximumStreams = 0
  /// Faults that fired, except error answers, by the name of their knob.
  public var faults: [String: Int] = [:]
  /// Bytes of request bodies.
  public var bodyBytes = 0
  /// Loaded registrations. A reset keeps them by default.
  public var devices = 0

  /// Creates counters with zeros.
  public init() {}

  /// Requests with any answer other than 200.
  public var rejected: Int { errors.values.reduce(0, +) }

  /// Adds the counts of one event loop.
  mutating func add(_ other: FCMCounters) {
    received += other.received
    accepted += other.accepted
    validated += other.validated
    errors.merge(other.errors, uniquingKeysWith: +)
    mints += other.mints
    mintErrors.merge(other.mintErrors, uniquingKeysWith: +)
    connections += other.connections
    goAways += other.goAways
    abandonedStreams += other.abandonedStreams
    maximumStreams = max(maximumStreams, other.maximumStreams)
    faults.merge(other.faults, uniquingKeysWith: +)
    bodyBytes += other.bodyBytes
  }
}
