/// The targets of a slice that a worker has sealed. The worker keeps a copy as long as Redis may lose them.
public struct SealedTargets: Sendable {
  /// Number of targets.
  public internal(set) var count = 0
  /// Number of departures from the partition before the expansion began. Later departures may have made targets
  /// invalid.
  var departures = 0
  /// The consecutive pages. The targets of a slice are one block of memory, which is released as a whole.
  var bytes: [UInt8] = []
  /// End of each page in ``bytes``.
  var ends: [Int] = []
  /// Users of the control group.
  public internal(set) var control = ControlUsers()
  /// Breakdown of the audience's users, without the control group.
  public internal(set) var audience = AudienceCount()
  /// Send times of the targets; `nil` if all may be sent immediately.
  public internal(set) var times: SendTimes?
  /// Time zones of devices that this machine does not know, at most five. These devices use the campaign's default
  /// zone.
  public internal(set) var unknownZones: [String] = []
  /// Number of targets of each variant, by place; empty without variants.
  public internal(set) var variants: [Int] = []
  /// Targets of the other legs of the campaign. The same expansion finds them, and the same step seals them.
  var siblings: [Sibling] = []

  /// Targets of another leg.
  struct Sibling: Sendable {
    /// Id of the campaign's part.
    var campaign: String
    var targets: SealedTargets
  }

  /// All targets, in the form in which they are read from Redis.
  public var chunk: TargetChunk { chunk(from: 0, count: count) }

  /// Returns some targets, in the form in which they are read from Redis.
  ///
  /// - Parameters:
  ///   - first: the index of the first target. It must be the first of its page.
  ///   - count: the number of targets; fewer are returned at the end.
  public func chunk(from first: Int, count: Int) -> TargetChunk {
    var chunk = TargetChunk(first: first, capacity: count)
    for number in TargetPage.pages(of: first..<min(first + count, self.count)) where number < ends.count {
      page(number).withUnsafeBytes { chunk.append(page: $0) }
    }
    return chunk
  }

  /// Returns the bytes of a page.
  func page(_ number: Int) -> ArraySlice<UInt8> {
    bytes[(number == 0 ? 0 : ends[number - 1])..<ends[number]]
  }
}
