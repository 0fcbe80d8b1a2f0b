/// What the simulator has counted since its start or the last reset.
public struct SimulatorCounters: Codable, Equatable, Sendable {
  /// Requests received in full.
  public var received = 0
  /// Requests answered with 200.
  public var accepted = 0
  /// Pushes that reached their device, those that waited for it included.
  public var delivered = 0
  /// Pushes that wait for their device to come back: one for each device token and topic.
  public var stored = 0
  /// Pushes lost while they waited, to a newer one for the same device and topic.
  public var overwritten = 0
  /// Pushes for devices that were away, that were not to be kept or that waited too long.
  public var expired = 0
  /// Pushes that were shown in place of one with the same collapse identifier, where that is tracked.
  public var collapsed = 0
  /// Broadcasts taken; requests about channels are in no count but this, ``channels`` and ``reasons``.
  public var broadcasts = 0
  /// Channels there are; a reset leaves them.
  public var channels = 0
  /// Requests answered otherwise, by reason, injected ones included.
  public var reasons: [String: Int] = [:]
  /// Acceptances of an `apns-id` beyond its first: what a person would see twice.
  public var duplicates = 0
  /// Deliveries of an `apns-id` beyond its first, whatever the answers: the sum of deliveries − 1.
  public var duplicatesReceived = 0
  /// `apns-id`s that came more than once.
  public var repeatedIDs = 0
  /// The most that one `apns-id` came.
  public var mostDeliveries = 0
  /// Push connections that completed their handshake.
  public var connections = 0
  /// Connections open now, those of the control API included; a reset leaves it.
  public var openConnections = 0
  /// GOAWAYs sent on purpose.
  public var goAways = 0
  /// Streams refused because they were over the announced limit, or their header list was too long.
  public var refusedStreams = 0
  /// Streams that ended before their answer was sent: reset by the client, or lost with the connection.
  public var abandonedStreams = 0
  /// How often the faults fired that are not answers, by the name of their knob: streams refused, reset, withheld,
  /// called unprocessed, or in vain behind a GOAWAY; connections reset or closed; limits announced; answers to single tokens.
  public var faults: [String: Int] = [:]
  /// Bytes of request bodies.
  public var bodyBytes = 0
  /// Device tokens known; a reset leaves it unless it says otherwise.
  public var devices = 0

  /// All zero.
  public init() {}

  /// All of them as a JSON object.
  public var json: [UInt8] { JSON.write(self) ?? [] }

  /// Requests answered with anything but 200.
  public var rejected: Int { reasons.values.reduce(0, +) }
}
