/// A queue of entries that are due after some milliseconds, such as delayed answers. It is a hashed timing wheel with
/// ticks of one millisecond.
///
/// One timer is enough for any number of entries, and adding an entry only appends it to a list.
struct DelayWheel<Entry> {
  private struct Item {
    var due: UInt64
    var entry: Entry
  }

  /// Number of ticks in one turn of the wheel. An entry that is due later stays for several turns. One turn takes about
  /// four seconds, which is more than any usual latency.
  private static var size: Int { 4096 }

  private var spokes: [[Item]] = Array(repeating: [], count: size)
  private var current: UInt64
  private(set) var count = 0

  /// - Parameter now: milliseconds on any monotonic clock.
  init(now: UInt64) { current = now }

  /// Adds `entry`, which is due at `due` milliseconds. An entry that is already due is returned at the next tick.
  mutating func add(_ entry: Entry, due: UInt64) {
    let due = max(due, current + 1)
    spokes[Int(due % UInt64(Self.size))].append(Item(due: due, entry: entry))
    count += 1
  }

  /// Removes all entries that are due at `now` and passes them to `body` in order of due time.
  mutating func advance(to now: UInt64, _ body: (Entry) -> Void) {
    while current < now {
      guard count > 0 else {
        current = now
        return
      }
      current += 1
      let spoke = Int(current % UInt64(Self.size))
      guard !spokes[spoke].isEmpty else { continue }
      // While `body` runs, the list of this tick is outside of the wheel, so that `body` never sees a half-processed
      // list. Then the list goes back with the remaining entries, and its memory is reused.
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
