/// Things that come due some milliseconds after they were put in: a hashed timing wheel of one-millisecond ticks.
///
/// One timer drives any number of entries, and an entry costs an append.
struct DelayWheel<Entry> {
  private struct Item {
    var due: UInt64
    var entry: Entry
  }

  /// Ticks in one turn; an entry due later stays for more turns. Four seconds is more than any usual latency.
  private static var size: Int { 4096 }

  private var spokes: [[Item]] = Array(repeating: [], count: size)
  private var current: UInt64
  private(set) var count = 0

  /// - Parameter now: milliseconds on any monotonic clock.
  init(now: UInt64) { current = now }

  /// Puts `entry` in, due at `due` milliseconds; what is already due comes with the next tick.
  mutating func add(_ entry: Entry, due: UInt64) {
    let due = max(due, current + 1)
    spokes[Int(due % UInt64(Self.size))].append(Item(due: due, entry: entry))
    count += 1
  }

  /// Takes everything due until `now`, in order of due time.
  mutating func advance(to now: UInt64, _ body: (Entry) -> Void) {
    while current < now {
      guard count > 0 else {
        current = now
        return
      }
      current += 1
      let spoke = Int(current % UInt64(Self.size))
      guard !spokes[spoke].isEmpty else { continue }
      // The list is taken out so that `body` never sees it half gone, and put back for its memory.
      var items: [Item] = []
      swap(&items, &spokes[spoke])
      var kept = 0
      for item in items {
        if item.due > current {
          items[kept] = item
          kept += 1
        } else {
          count -= 1
          body(item.entry)
        }
      }
      items.removeSubrange(kept...)
      swap(&items, &spokes[spoke])
    }
  }
}
