/// Counts of the simulator since its start or the last reset.
public struct SimulatorCounters: Codable, Equatable, Sendable {
  /// Requests received in full.
  public var received = 0
  /// Requests answered with 200.
  public var accepted = 0
  /// Pushes that reached their device, including stored pushes that were delivered later.
  public var delivered = 0
  /// Pushes stored for offline devices: at most one for each device token and topic.
  public var stored = 0
  /// Stored pushes that a newer push for the same device and topic replaced.
  public var overwritten = 0
  /// Pushes for offline devices that expired before delivery, including pushes that must not be stored.
  public var expired = 0
  /// Pushes that replaced a push with the same collapse identifier, if ``SimulatorKnobs/tracksCollapse`` is set.
  public var collapsed = 0
  /// Accepted broadcasts. Channel requests count only here, in ``channels`` and in ``reasons``.
  public var broadcasts = 0
  /// Existing channels. A reset keeps them.
  public var channels = 0
  /// Requests with an answer other than 200, by reason, including injected errors.
  public var reasons: [String: Int] = [:]
  /// Accepted pushes whose `apns-id` was accepted before: notifications that a user would see again.
  public var duplicates = 0
  /// Requests whose `apns-id` had arrived before, with any answer.
  public var duplicatesReceived = 0
  /// `apns-id`s that arrived more than once.
  public var repeatedIDs = 0
  /// The largest number of requests with the same `apns-id`.
  public var maximumDeliveries = 0
  /// Push connections that completed their handshake.
  public var connections = 0
  /// Currently open connections, including those of the control API. A reset keeps this number.
  public var openConnections = 0
  /// GOAWAYs sent on purpose.
  public var goAways = 0
  /// Streams refused because they exceeded the announced limit, or because their header list was too long.
  public var refusedStreams = 0
  /// Streams that ended before their answer was sent: reset by the client, or lost with the connection.
  public var abandonedStreams = 0
  /// Faults that fired, except error answers, by the name of their knob. The faults are: refused, reset, withheld and
  /// unprocessed streams, streams after a GOAWAY, connections that were reset or closed, announced limits, and answers
  /// to single tokens.
  public var faults: [String: Int] = [:]
  /// Bytes of request bodies.
  public var bodyBytes = 0
  /// Known device tokens. A reset keeps them by default.
  public var devices = 0
  /// Counts of the FCM side.
  public var fcm = FCMCounters()

  /// Creates counters with zeros.
  public init() {}

  /// All counters as a JSON object.
  public var json: [UInt8] { JSON.write(self) ?? [] }

  /// Requests with any answer other than 200.
  public var rejected: Int { reasons.values.reduce(0, +) }
}
