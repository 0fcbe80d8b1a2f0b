import CampaignStore

/// What the tags of a slice's pushes begin with: 16 bits of generation, 16 of slot. The index of a target follows.
struct SliceTag: Hashable {
  let base: UInt64

  init(generation: UInt16, slot: Int) {
    base = UInt64(generation) << 48 | UInt64(slot) << 32
  }

  /// What a push's tag begins with.
  init(of tag: UInt64) { base = tag & ~0xffff_ffff }

  var slot: Int { Int(base >> 32 & 0xffff) }

  func tag(_ index: Int) -> UInt64 { base | UInt64(index) }

  /// Whether a push is of this slice.
  func matches(_ tag: UInt64) -> Bool { tag & ~0xffff_ffff == base }

  /// The index of the target in its slice.
  static func index(_ tag: UInt64) -> Int { Int(tag & 0xffff_ffff) }
}

/// The slices in hand, by slot, and those that are being taken up. Confined to the worker's loop.
final class SliceTable {
  private var slots: [SliceSession?] = []
  /// Tells a slot's slices apart, for completions that come after their slice has gone.
  private var generation: UInt16 = 0
  /// Slices taken off the lanes, in hand or not yet.
  private(set) var taken: Set<SliceReference> = []
  /// Those of them that are not in hand yet, and together with which others each was taken.
  private var underWay: [SliceReference: Int] = [:]
  /// How often slices were taken.
  private var takes = 0
  private var bunches = 0

  /// The slices in hand, in the order of their slots.
  var sessions: some Sequence<SliceSession> { slots.lazy.compactMap(\.self) }

  /// Whether no slice is in hand.
  var isEmpty: Bool { slots.allSatisfy { $0 == nil } }

  /// The campaigns of slices that were taken and are not in hand yet, one for each; a bunch counts as one.
  var beginning: [String] {
    guard !underWay.isEmpty else { return [] }
    var seen: Set<Int> = []
    return underWay.compactMap { slice, take in seen.insert(take).inserted ? slice.campaign : nil }
  }

  /// The slices of a campaign that were taken and are not in hand yet.
  func underWay(of campaign: String) -> some Sequence<SliceReference> {
    underWay.keys.lazy.filter { $0.campaign == campaign }
  }

  /// The campaigns of which slices are in hand.
  var campaigns: Set<String> { Set(sessions.map(\.slice.campaign)) }

  /// The slice of a push; `nil` when it was let go of.
  func session(of tag: UInt64) -> SliceSession? {
    let slot = SliceTag(of: tag).slot
    guard slot < slots.count, let session = slots[slot], session.tag.matches(tag) else { return nil }
    return session
  }

  func session(in slot: Int) -> SliceSession? { slots[slot] }

  /// Takes note of slices that were taken off their lane together.
  func take(_ slices: [SliceReference]) {
    takes += 1
    taken.formUnion(slices)
    for slice in slices { underWay[slice] = takes }
  }

  /// Nothing more is done about a slice.
  func drop(_ slice: SliceReference) {
    taken.remove(slice)
    underWay[slice] = nil
  }

  /// Whether slices of a campaign are in hand.
  func has(_ campaign: String) -> Bool { sessions.contains { $0.slice.campaign == campaign } }

  /// A tag for one more slice; ``add(_:)`` follows at once.
  func nextTag() -> SliceTag {
    generation &+= 1
    return SliceTag(generation: generation, slot: slots.firstIndex { $0 == nil } ?? slots.count)
  }

  /// A number for one more bunch.
  func nextBunch() -> Int {
    bunches += 1
    return bunches
  }

  func add(_ session: SliceSession) {
    let slot = session.tag.slot
    if slot == slots.count { slots.append(nil) }
    slots[slot] = session
    underWay[session.slice] = nil
  }

  func remove(_ session: SliceSession) { slots[session.tag.slot] = nil }
}
