import PushCore
import TestKit
import Testing

@testable import APNs
@testable import PushTransport

@Suite("Backlog")
struct BacklogTests {
  private func batch(_ tags: Range<UInt64>, flow: Int = 0) -> PushBatch {
    var batch = PushBatch(request: PushHeaders(topic: "com.example.news", pushType: .alert, priority: 10).request)
    batch.flow = flow
    batch.pushes = tags.map { Push(tag: $0, id: (0, $0), token: 0..<0, payload: 0..<0) }
    return batch
  }

  private func take(_ backlog: inout Backlog, _ count: Int) -> [UInt64] {
    backlog.take(upTo: count).map { part in part.batch.pushes[part.range].map(\.tag) } ?? []
  }

  @Test("pushes leave in their order of arrival, for any sizes of takes")
  func order() {
    var backlog = Backlog()
    backlog.append(batch(0..<5), lane: 0)
    backlog.append(batch(5..<7), lane: 0)
    expect(backlog.count, is: 7)
    expect(take(&backlog, 3), is: [0, 1, 2])
    expect(take(&backlog, 10), is: [3, 4])
    expect(take(&backlog, 1), is: [5])
    expect(take(&backlog, 10), is: [6])
    expect(take(&backlog, 10), is: [])
    expect(backlog.count, is: 0)
  }

  @Test("flows of a lane take turns, whatever their size")
  func flows() {
    var backlog = Backlog()
    backlog.append(batch(0..<100, flow: 1), lane: 1)
    backlog.append(batch(100..<200, flow: 1), lane: 1)
    backlog.append(batch(200..<201, flow: 2), lane: 1)
    backlog.append(batch(300..<310, flow: 3), lane: 1)
    expect(take(&backlog, 5), is: Array(0..<5))
    expect(take(&backlog, 5), is: [200])
    expect(take(&backlog, 5), is: Array(300..<305))
    expect(take(&backlog, 100), is: Array(5..<100))
    expect(take(&backlog, 100), is: Array(305..<310))
    expect(take(&backlog, 100), is: Array(100..<200))
    expect(backlog.count, is: 0)
  }

  @Test("the newest pushes of all flows are taken back first")
  func newestOfAllFlows() {
    var backlog = Backlog()
    backlog.append(batch(0..<3, flow: 1), lane: 0)
    backlog.append(batch(10..<13, flow: 2), lane: 0)
    backlog.append(batch(3..<5, flow: 1), lane: 0)
    let removed = backlog.removeNewest(4, lane: 0) { _ in true }
    expect(removed, is: [4, 3, 12, 11])
    expect(backlog.count, is: 4)
    expect(take(&backlog, 9), is: [0, 1, 2])
    expect(take(&backlog, 9), is: [10])
  }

  @Test("the higher lane is served with the next push, in the middle of a lower batch")
  func lanes() {
    var backlog = Backlog()
    backlog.append(batch(0..<4), lane: 2)
    expect(take(&backlog, 1), is: [0])
    backlog.append(batch(10..<12), lane: 0)
    backlog.append(batch(20..<21), lane: 1)
    expect(take(&backlog, 9), is: [10, 11])
    expect(take(&backlog, 9), is: [20])
    expect(take(&backlog, 9), is: [1, 2, 3])
  }

  @Test("only the pushes that are taken back leave the backlog")
  func removal() {
    var backlog = Backlog()
    backlog.append(batch(0..<6), lane: 0)
    backlog.append(batch(6..<9), lane: 1)
    expect(take(&backlog, 2), is: [0, 1])
    expect(backlog.remove { $0 % 2 == 0 }, is: [2, 4, 6, 8])
    expect(backlog.count, is: 3)
    expect(take(&backlog, 9), is: [3, 5])
    expect(take(&backlog, 9), is: [7])
    expect(backlog.remove { _ in true }, is: [])
  }

  @Test("any number of the newest waiting pushes can be taken back, and the rest keeps its order")
  func newest() {
    var backlog = Backlog()
    for first in stride(from: UInt64(0), to: 9, by: 3) { backlog.append(batch(first..<first + 3), lane: 1) }
    expect(take(&backlog, 2), is: [0, 1])
    expect(backlog.removeNewest(2, lane: 1) { _ in true }, is: [8, 7])
    expect(backlog.removeNewest(2, lane: 1) { $0 % 2 == 0 }, is: [6, 4])
    expect(backlog.removeNewest(0, lane: 1) { _ in true }, is: [])
    expect(backlog.removeNewest(9, lane: 0) { _ in true }, is: [])
    expect(backlog.removeNewest(9, lane: 7) { _ in true }, is: [])
    backlog.append(batch(20..<21), lane: 1)
    expect(backlog.count, is: 4)
    expect(take(&backlog, 9), is: [2])
    expect(take(&backlog, 9), is: [3, 5])
    expect(backlog.removeNewest(9, lane: 1) { _ in true }, is: [20])
    expect(take(&backlog, 9), is: [])
    expect(backlog.count, is: 0)
  }

  @Test("an empty batch has no effect")
  func empty() {
    var backlog = Backlog()
    backlog.append(batch(0..<0), lane: 0)
    expect(backlog.take(upTo: 1)?.range, is: nil)
  }

  @Test("many batches through one lane are neither lost nor kept")
  func many() {
    var backlog = Backlog()
    var next: UInt64 = 0
    for round in UInt64(0)..<1000 {
      backlog.append(batch(round * 3..<round * 3 + 3), lane: 0)
      if round > 5 {
        for tag in take(&backlog, 3) {
          expect(tag, is: next)
          next += 1
        }
      }
    }
    while case let tags = take(&backlog, 100), !tags.isEmpty {
      expect(tags, is: Array(next..<next + UInt64(tags.count)))
      next += UInt64(tags.count)
    }
    expect(next, is: 3000)
  }
}
