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

/// The slices in hand, by slot, and those that are being taken up.
struct SliceTable {
  private var slots: [SliceSession?] = []
  /// Tells a slot's slices apart, for completions that come after their slice has gone.
  private var generation: UInt16 = 0
  /// Slices taken off the lanes, in hand or not yet.
  private(set) var taken: Set<SliceReference> = []

  /// The slices in hand, in the order of their slots.
  var sessions: some Sequence<SliceSession> { slots.lazy.compactMap(\.self) }

  /// Whether no slice is in hand.
  var isEmpty: Bool { slots.allSatisfy { $0 == nil } }

  /// The campaigns of slices that were taken and are not in hand yet, one for each.
  var beginning: [String] {
    guard taken.count > slots.count(where: { $0 != nil }) else { return [] }
    let inHand = Set(sessions.map(\.slice))
    return taken.filter { !inHand.contains($0) }.map(\.campaign)
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

  /// Takes note that a slice was taken off its lane.
  mutating func take(_ slice: SliceReference) { taken.insert(slice) }

  /// Nothing more is done about a slice.
  mutating func drop(_ slice: SliceReference) { taken.remove(slice) }

  /// A tag for one more slice; ``add(_:)`` follows at once.
  mutating func nextTag() -> SliceTag {
    generation &+= 1
    return SliceTag(generation: generation, slot: slots.firstIndex { $0 == nil } ?? slots.count)
  }

  mutating func add(_ session: SliceSession) {
    let slot = session.tag.slot
    if slot == slots.count { slots.append(nil) }
    slots[slot] = session
  }

  mutating func remove(_ session: SliceSession) { slots[session.tag.slot] = nil }
}
