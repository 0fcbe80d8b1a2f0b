/// Pushes that no connection has taken yet, by lane. Pure.
///
/// The higher lane is served first with the next push, not just the next batch. Bounded by the caller: a worker never
/// submits more than its window.
struct Backlog: Sendable {
  fileprivate struct Entry {
    var batch: PushBatch
    var next = 0
  }

  fileprivate struct Queue {
    var entries: [Entry] = []
    var head = 0
  }

  private var lanes: [Queue] = []
  /// Pushes in it.
  private(set) var count = 0
  /// Lanes that have ever had a push.
  var laneCount: Int { lanes.count }

  /// Adds a batch behind those of its lane; lane 0 is served first.
  mutating func append(_ batch: PushBatch, lane: Int) {
    guard !batch.pushes.isEmpty else { return }
    precondition(lane >= 0)
    while lanes.count <= lane { lanes.append(Queue()) }
    lanes[lane].entries.append(Entry(batch: batch))
    count += batch.pushes.count
  }

  /// The next pushes, at most `limit`, all of one batch; `nil` when there are none.
  mutating func take(upTo limit: Int) -> PushBatch.Part? {
    guard count > 0, limit > 0 else { return nil }
    for lane in lanes.indices where lanes[lane].head < lanes[lane].entries.count {
      let head = lanes[lane].head
      let entry = lanes[lane].entries[head]
      let end = min(entry.next + limit, entry.batch.pushes.count)
      let part = PushBatch.Part(batch: entry.batch, range: entry.next..<end)
      count -= part.range.count
      if end < entry.batch.pushes.count {
        lanes[lane].entries[head].next = end
      } else {
        lanes[lane].removeHead()
      }
      return part
    }
    return nil
  }

  /// Takes back the pushes whose tags satisfy `isUnwanted`; their tags, in order.
  mutating func remove(where isUnwanted: (UInt64) -> Bool) -> [UInt64] {
    var removed: [UInt64] = []
    for lane in lanes.indices {
      var kept = Queue()
      for var entry in lanes[lane].entries[lanes[lane].head...] {
        var pending = Array(entry.batch.pushes[entry.next...])
        pending.removeAll { push in
          guard isUnwanted(push.tag) else { return false }
          removed.append(push.tag)
          return true
        }
        entry.batch.pushes = pending
        entry.next = 0
        if !pending.isEmpty { kept.entries.append(entry) }
      }
      lanes[lane] = kept
    }
    count -= removed.count
    return removed
  }

  /// Takes back at most `limit` pushes of one lane whose tags satisfy `isUnwanted`; their tags, the newest first.
  mutating func removeNewest(_ limit: Int, lane: Int, where isUnwanted: (UInt64) -> Bool) -> [UInt64] {
    guard lane < lanes.count else { return [] }
    var removed: [UInt64] = []
    var place = lanes[lane].entries.count
    while place > lanes[lane].head, removed.count < limit {
      place -= 1
      removed += lanes[lane].entries[place].removeNewest(limit - removed.count, where: isUnwanted)
      if lanes[lane].entries[place].isEmpty { lanes[lane].entries.remove(at: place) }
    }
    count -= removed.count
    return removed
  }
}

extension Backlog.Entry {
  fileprivate var isEmpty: Bool { next == batch.pushes.count }

  fileprivate mutating func removeNewest(_ limit: Int, where isUnwanted: (UInt64) -> Bool) -> [UInt64] {
    var removed: [UInt64] = []
    var kept: [Push] = []
    var place = batch.pushes.count
    while place > next, removed.count < limit {
      place -= 1
      if isUnwanted(batch.pushes[place].tag) {
        removed.append(batch.pushes[place].tag)
      } else {
        kept.append(batch.pushes[place])
      }
    }
    guard !removed.isEmpty else { return [] }
    batch.pushes.replaceSubrange(place..., with: kept.reversed())
    return removed
  }
}

extension Backlog.Queue {
  /// Emptied batches stay in front until they are half of the array: removing one by one would be quadratic.
  fileprivate mutating func removeHead() {
    entries[head].batch.bytes = []
    entries[head].batch.pushes = []
    head += 1
    if head * 2 >= entries.count {
      entries.removeFirst(head)
      head = 0
    }
  }
}
