/// The targets that a worker has sealed, for as long as Redis may lose them.
public struct SealedTargets: Sendable {
  /// How many there are.
  public internal(set) var count = 0
  /// Departures from the partition before the expansion began: those that came later may have made targets invalid.
  var departures = 0
  /// The pages one behind the other: a slice is one block, which goes back to the system as a whole.
  var bytes: [UInt8] = []
  /// Where each page ends.
  var ends: [Int] = []
  /// Users whom the campaign means and who get nothing.
  public internal(set) var control = ControlUsers()
  /// How the users of the audience divide, but for the control group.
  public internal(set) var audience = AudienceCount()
  /// When they may be sent; `nil` for all of them at once.
  public internal(set) var times: SendTimes?
  /// Time zones of devices that this machine does not know, at most five. Their devices go by the campaign's default zone.
  public internal(set) var unknownZones: [String] = []
  /// By place, how many of them each variant has; empty where there are none.
  public internal(set) var variants: [Int] = []

  /// All of them, as they would be read again.
  public var chunk: TargetChunk { chunk(from: 0, count: count) }

  /// Some of them, as they would be read again.
  ///
  /// - Parameters:
  ///   - first: the first of them, the first of its page.
  ///   - count: how many, fewer at the end.
  public func chunk(from first: Int, count: Int) -> TargetChunk {
    var chunk = TargetChunk(first: first, capacity: count)
    for number in TargetPage.pages(of: first..<min(first + count, self.count)) where number < ends.count {
      page(number).withUnsafeBytes { chunk.append(page: $0) }
    }
    return chunk
  }

  /// The bytes of a page.
  func page(_ number: Int) -> ArraySlice<UInt8> {
    bytes[(number == 0 ? 0 : ends[number - 1])..<ends[number]]
  }
}
