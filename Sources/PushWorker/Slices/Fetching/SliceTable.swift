import CampaignStore

/// The upper half of the tags of a slice's pushes. A tag identifies a push in its completion: 16 bits generation and 16
/// bits slot of the slice, then 32 bits index of the target.
struct SliceTag: Hashable {
  let base: UInt64

  init(generation: UInt16, slot: Int) {
    base = UInt64(generation) << 48 | UInt64(slot) << 32
  }

  /// Creates the value from the tag of a push.
  init(of tag: UInt64) { base = tag & ~0xffff_ffff }

  var slot: Int { Int(base >> 32 & 0xffff) }

  func tag(_ index: Int) -> UInt64 { base | UInt64(index) }

  /// Returns whether a push belongs to this slice.
  func matches(_ tag: UInt64) -> Bool { tag & ~0xffff_ffff == base }

  /// Returns the index of the target in its slice.
  static func index(_ tag: UInt64) -> Int { Int(tag & 0xffff_ffff) }
}

/// The held slices by slot, and the slices that the worker is claiming. Confined to the worker's loop.
final class SliceTable {
  private var slots: [SliceSession?] = []
  /// The held slices, in the order of their slots. The worker reads them every few milliseconds.
  private(set) var sessions: [SliceSession] = []
  /// Number that distinguishes successive slices of one slot. It is necessary because a completion may arrive after the
  /// worker has released the slice of the push.
  private var generation: UInt16 = 0
  /// Slices that this worker has taken from the lanes: held slices, and slices that are not held yet.
  private(set) var taken: Set<SliceReference> = []
  /// Taken slices that are not held yet, each with the number of its dequeue call.
  private var pending: [SliceReference: Int] = [:]
  /// Number of dequeue calls that returned slices.
  private var takes = 0
  private var batches = 0

  /// Whether the worker holds no slice.
  var isEmpty: Bool { sessions.isEmpty }

  /// The campaign of each slice that was taken and is not held yet. A batch counts as one slice.
  var beginning: [String] {
    guard !pending.isEmpty else { return [] }
    var seen: Set<Int> = []
    return pending.compactMap { slice, take in seen.insert(take).inserted ? slice.campaign : nil }
  }

  /// Returns the slices of a campaign that were taken and are not held yet.
  func pending(of campaign: String) -> some Sequence<SliceReference> {
    pending.keys.lazy.filter { $0.campaign == campaign }
  }

  /// The campaigns of the held slices.
  var campaigns: Set<String> { Set(sessions.map(\.slice.campaign)) }

  /// Returns the slice of a push; `nil` if the worker has released the slice.
  func session(of tag: UInt64) -> SliceSession? {
    let slot = SliceTag(of: tag).slot
    guard slot < slots.count, let session = slots[slot], session.tag.matches(tag) else { return nil }
    return session
  }

  func session(in slot: Int) -> SliceSession? { slots[slot] }

  /// Records the slices of one dequeue call.
  func take(_ slices: [SliceReference]) {
    takes += 1
    taken.formUnion(slices)
    for slice in slices { pending[slice] = takes }
  }

  /// Removes a slice that needs no more work.
  func drop(_ slice: SliceReference) {
    taken.remove(slice)
    pending[slice] = nil
  }

  /// Returns whether the worker holds slices of a campaign.
  func has(_ campaign: String) -> Bool { sessions.contains { $0.slice.campaign == campaign } }

  /// Returns a tag for a new slice. The caller must call ``add(_:)`` before the next call of this function.
  func nextTag() -> SliceTag {
    generation &+= 1
    return SliceTag(generation: generation, slot: slots.firstIndex { $0 == nil } ?? slots.count)
  }

  /// Returns a number for a new batch of slices.
  func nextBatch() -> Int {
    batches += 1
    return batches
  }

  func add(_ session: SliceSession) {
    let slot = session.tag.slot
    if slot == slots.count { slots.append(nil) }
    slots[slot] = session
    sessions.insert(session, at: sessions.firstIndex { $0.tag.slot > slot } ?? sessions.count)
    pending[session.slice] = nil
  }

  func remove(_ session: SliceSession) {
    slots[session.tag.slot] = nil
    sessions.removeAll { $0 === session }
  }
}
