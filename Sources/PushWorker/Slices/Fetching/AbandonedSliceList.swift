import CampaignStore

/// The abandoned slices of dead workers, from the messages of the fleet. A worker takes such slices even if it holds
/// enough slices, because targets in doubt must not wait for a free slot. While answers are slow, this wait would take
/// seconds. Pure: time is an argument, in ns of `EventLoop.now`.
struct AbandonedSliceList {
  /// The slices, in the order of their reports.
  private var slices: [SliceReference] = []
  private var end: UInt64 = 0

  /// Maximum number of slices in the list; a worker never holds more. Workers take further abandoned slices from the
  /// lanes, like any other slice.
  static let most = SliceSelection.maximumInHand
  /// Lifetime of the list after the latest report, in ns. By then, each worker that could take a slice has taken it.
  static let memory: UInt64 = 2_000_000_000

  /// Returns whether the list is empty or has expired.
  func isEmpty(_ now: UInt64) -> Bool { slices.isEmpty || now >= end }

  /// Records an abandoned slice.
  mutating func add(_ slice: SliceReference, at now: UInt64) {
    if now >= end { slices = [] }
    end = now + Self.memory
    if slices.count < Self.most, !slices.contains(slice) { slices.append(slice) }
  }

  /// Returns the abandoned slices of one campaign: the first reported campaign that is not excluded.
  func next(_ now: UInt64, excluding isExcluded: (_ campaign: String) -> Bool) -> [SliceReference] {
    guard now < end, let first = slices.first(where: { !isExcluded($0.campaign) }) else { return [] }
    return slices.filter { $0.campaign == first.campaign }
  }

  /// Records the result of a search. The search tried the slices in order and took the first one that no worker had
  /// taken, `found`. The slices before it belong to other workers.
  mutating func recordSearch(_ sought: [SliceReference], found: SliceReference?) {
    let last = found.flatMap { sought.firstIndex(of: $0) } ?? sought.count - 1
    let known = sought.prefix(last + 1)
    slices.removeAll { known.contains($0) }
  }

  /// Removes slices from this list that the worker has taken.
  mutating func removeTaken(_ taken: [SliceReference]) {
    guard !slices.isEmpty else { return }
    slices.removeAll { taken.contains($0) }
  }
}
