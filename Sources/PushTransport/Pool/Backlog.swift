internal import PushCore

/// Pushes that no connection has taken yet, by lane. The type does no I/O.
///
/// A push of a higher lane is served next, without waiting for the end of a batch. A flow is a sequence of batches that
/// belong together, such as those of one campaign (``PushBatch/flow``). Within a lane, flows take turns, so that one
/// push never waits for a thousand pushes of another flow. The caller limits the size: a worker never submits more than
/// its window.
struct Backlog: Sendable {
  fileprivate struct Entry {
    var batch: PushBatch
    var next = 0
    /// Serial number of the batch; a later batch has a higher one.
    var number: Int
  }

  /// The waiting batches of one flow, the oldest first; never empty.
  fileprivate struct Flow {
    let name: Int
    var entries: [Entry] = []
    var head = 0
  }

  /// Flows of each lane; the first one is served next.
  private var lanes: [[Flow]] = []
  private var appended = 0
  /// Number of pushes in the backlog.
  private(set) var count = 0
  /// Number of lanes: one more than the highest lane that has ever had a push.
  var laneCount: Int { lanes.count }

  /// Appends a batch to the other batches of its flow in the lane. Lane 0 is served first.
  mutating func append(_ batch: PushBatch, lane: Int) {
    guard !batch.pushes.isEmpty else { return }
    precondition(lane >= 0)
    while lanes.count <= lane { lanes.append([]) }
    let entry = Entry(batch: batch, number: appended)
    if let place = lanes[lane].firstIndex(where: { $0.name == batch.flow }) {
      lanes[lane][place].entries.append(entry)
    } else {
      lanes[lane].append(Flow(name: batch.flow, entries: [entry]))
    }
    appended += 1
    count += batch.pushes.count
  }

  /// Removes the next pushes, at most `limit` and all from one batch, and returns them; `nil` if there are none.
  mutating func take(upTo limit: Int) -> PushBatch.Part? {
    guard count > 0, limit > 0, let lane = lanes.firstIndex(where: { !$0.isEmpty }) else { return nil }
    let part = lanes[lane][0].take(upTo: limit)
    count -= part.range.count
    if lanes[lane][0].isEmpty {
      lanes[lane].removeFirst()
    } else if lanes[lane].count > 1 {
      lanes[lane].append(lanes[lane].removeFirst())
    }
    return part
  }

  /// Removes the pushes whose tags satisfy `isUnwanted`, and returns the tags by lane and flow, in order.
  mutating func remove(where isUnwanted: (UInt64) -> Bool) -> [UInt64] {
    var removed: [UInt64] = []
    for lane in lanes.indices {
      for flow in lanes[lane].indices { lanes[lane][flow].remove(&removed, where: isUnwanted) }
      lanes[lane].removeAll(where: \.isEmpty)
    }
    count -= removed.count
    return removed
  }

  /// Removes at most `limit` pushes of one lane whose tags satisfy `isUnwanted`, and returns their tags, the newest
  /// first.
  mutating func removeNewest(_ limit: Int, lane: Int, where isUnwanted: (UInt64) -> Bool) -> [UInt64] {
    guard lane < lanes.count else { return [] }
    let newest = lanes[lane].enumerated().flatMap { flow, queue in
      (queue.head..<queue.entries.count).map { (flow: flow, entry: $0, number: queue.entries[$0].number) }
    }.sorted { $0.number > $1.number }
    var removed: [UInt64] = []
    for place in newest where removed.count < limit {
      removed += lanes[lane][place.flow].entries[place.entry].removeNewest(limit - removed.count, where: isUnwanted)
    }
    for flow in lanes[lane].indices { lanes[lane][flow].dropEmptied() }
    lanes[lane].removeAll(where: \.isEmpty)
    count -= removed.count
    return removed
  }
}

extension Backlog.Flow {
  fileprivate var isEmpty: Bool { head == entries.count }

  fileprivate mutating func take(upTo limit: Int) -> PushBatch.Part {
    let entry = entries[head]
    let end = min(entry.next + limit, entry.batch.pushes.count)
    if end < entry.batch.pushes.count {
      entries[head].next = end
    } else {
      removeHead()
    }
    return PushBatch.Part(batch: entry.batch, range: entry.next..<end)
  }

  /// Removes the first batch. Empty batches stay at the front until they are half of the array, because removing them
  /// one by one takes quadratic time.
  private mutating func removeHead() {
    entries[head].batch.bytes = []
    entries[head].batch.pushes = []
    head += 1
    if head * 2 >= entries.count {
      entries.removeFirst(head)
      head = 0
    }
  }

  fileprivate mutating func remove(_ removed: inout [UInt64], where isUnwanted: (UInt64) -> Bool) {
    for place in head..<entries.count {
      let entry = entries[place]
      entries[place].batch.pushes = entry.batch.pushes[entry.next...].filter { push in
        guard isUnwanted(push.tag) else { return true }
        removed.append(push.tag)
        return false
      }
      entries[place].next = 0
    }
    dropEmptied()
  }

  fileprivate mutating func dropEmptied() {
    entries = entries[head...].filter { $0.next < $0.batch.pushes.count }
    head = 0
  }
}

extension Backlog.Entry {
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
