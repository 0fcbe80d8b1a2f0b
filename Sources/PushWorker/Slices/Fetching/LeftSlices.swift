import CampaignStore

/// The slices that dead workers have left, as others say: they are taken up though there is enough in hand. What they have in
/// doubt must not wait until somebody's hands are free, which takes seconds where answers are slow. Pure: time is an
/// argument, ns of `EventLoop.now`.
struct LeftSlices {
  /// In the order in which they were left.
  private var slices: [SliceReference] = []
  private var end: UInt64 = 0

  /// Slices at most: more a worker never has in hand. What is beyond them is taken like any other.
  static let most = SliceSelection.maximumInHand
  /// ns after the last news: whoever could take them has.
  static let memory: UInt64 = 2_000_000_000

  /// Whether there may be any.
  func isEmpty(_ now: UInt64) -> Bool { slices.isEmpty || now >= end }

  /// A slice was left.
  mutating func note(_ slice: SliceReference, at now: UInt64) {
    if now >= end { slices = [] }
    end = now + Self.memory
    if slices.count < Self.most, !slices.contains(slice) { slices.append(slice) }
  }

  /// Slices of one campaign that may be there: of that which was left first and is not excluded.
  func next(_ now: UInt64, excluding isExcluded: (_ campaign: String) -> Bool) -> [SliceReference] {
    guard now < end, let first = slices.first(where: { !isExcluded($0.campaign) }) else { return [] }
    return slices.filter { $0.campaign == first.campaign }
  }

  /// Of slices that were looked for, one after the other, this was the first that was there: others have those before it.
  mutating func note(_ sought: [SliceReference], found: SliceReference?) {
    let last = found.flatMap { sought.firstIndex(of: $0) } ?? sought.count - 1
    let known = sought.prefix(last + 1)
    slices.removeAll { known.contains($0) }
  }

  /// Slices were taken, whoever had them before.
  mutating func noteTaken(_ taken: [SliceReference]) {
    guard !slices.isEmpty else { return }
    slices.removeAll { taken.contains($0) }
  }
}
