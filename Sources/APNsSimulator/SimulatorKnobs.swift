/// What can be changed while the simulator runs, by ``Simulator/set(_:)`` or `PUT /knobs`.
public struct SimulatorKnobs: Codable, Equatable, Sendable {
  /// What becomes of a token that was never loaded.
  public enum UnknownTokens: String, Codable, Sendable {
    /// It counts as registered for every topic.
    case accept
    /// 400 `BadDeviceToken`.
    case bad
  }

  /// An error answered instead of 200 to a share of the requests that would have been accepted.
  public struct Failure: Codable, Equatable, Sendable {
    /// 0 to 1; spread evenly, without chance: 0.01 is every hundredth request of an event loop.
    public var share: Double
    /// The status, such as 503.
    public var status: Int
    /// The reason in the body, such as `ServiceUnavailable`.
    public var reason: String

    /// - Parameters:
    ///   - share: 0 to 1.
    ///   - status: such as 503.
    ///   - reason: such as `ServiceUnavailable`.
    public init(share: Double, status: Int, reason: String) {
      self.share = share
      self.status = status
      self.reason = reason
    }
  }

  /// How long every answer waits, in milliseconds; 0 answers at once.
  public var latencyMilliseconds = 0
  /// What becomes of tokens that were never loaded.
  public var unknownTokens = UnknownTokens.accept
  /// Injected errors; the first that is due is taken.
  public var failures: [Failure] = []
  /// Each connection gets a GOAWAY (`Shutdown`) after this many requests; 0 never.
  public var goAwayAfterRequests = 0
  /// Whether a rejection other than 410 puts the connection's stream limit back to 1 until the next acceptance.
  public var limitDropsOnRejection = false
  /// Whether `background` with priority 10 is answered with `BadPriority`; real APNs is reported to accept it.
  public var rejectsUrgentBackground = false
  /// Whether provider tokens may be signed in DER; real APNs takes both, the standard knows raw r‖s only.
  public var acceptsDERSignatures = true
  /// Whether answers carry `apns-unique-id`, as the development environment's do.
  public var sendsUniqueID = false
  /// Whether `apns-id`s are remembered to count duplicates: some 25 bytes for each.
  public var tracksDuplicates = true
  /// Seconds that the simulator's clock is ahead when it judges the age of provider tokens; negative is behind.
  public var clockSkewSeconds: Int64 = 0

  /// Everything as real APNs behaves, at once and without faults.
  public init() {}
}
