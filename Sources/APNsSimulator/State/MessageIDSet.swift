/// A set of `apns-id`s. For each, it stores whether a push with this identifier was accepted. A hash table with open
/// addressing and 17 bytes for each slot.
struct MessageIDSet {
  /// State of an identifier before an insertion.
  enum Before: Equatable {
    case new
    case received
    case accepted
  }

  private enum Mark: UInt8 {
    case empty, received, accepted
  }

  private var keys = [MessageID.Key](repeating: MessageID.Key(high: 0, low: 0), count: 64)
  private var marks = [Mark](repeating: .empty, count: 64)
  private(set) var count = 0

  /// Adds `key`. An accepted identifier stays accepted.
  mutating func insert(_ key: MessageID.Key, hash: UInt64, accepted: Bool) -> Before {
    let slot = locate(key, hash: hash)
    switch marks[slot] {
    case .accepted: return .accepted
    case .received:
      if accepted { marks[slot] = .accepted }
      return .received
    case .empty:
      keys[slot] = key
      marks[slot] = accepted ? .accepted : .received
      count += 1
      if count * 4 > keys.count * 3 { grow() }
      return .new
    }
  }

  private func locate(_ key: MessageID.Key, hash: UInt64) -> Int {
    let mask = keys.count - 1
    var slot = Int(truncatingIfNeeded: hash) & mask
    while marks[slot] != .empty, keys[slot] != key { slot = (slot + 1) & mask }
    return slot
  }

  private mutating func grow() {
    let old = (keys, marks)
    keys = [MessageID.Key](repeating: MessageID.Key(high: 0, low: 0), count: old.0.count * 2)
    marks = [Mark](repeating: .empty, count: old.0.count * 2)
    for (key, mark) in zip(old.0, old.1) where mark != .empty {
      let slot = locate(key, hash: ByteHash.hash(key))
      keys[slot] = key
      marks[slot] = mark
    }
  }
}
