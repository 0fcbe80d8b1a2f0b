import TestKit
import Testing

@testable import Redis

@Suite struct InFlightTests {
  @Test func answersGoToTheOldestCall() {
    var calls = InFlight<String>()
    calls.append(.init(missing: 2, deadline: 10, offset: 0, waiter: "first"))
    calls.append(.init(missing: 1, deadline: 5, offset: 20, waiter: "second"))
    expect(calls.earliestDeadline, is: 5)
    guard case .incomplete = calls.received(root: 7) else { return expect(false) }
    guard case .complete("first", roots: [7, 9]) = calls.received(root: 9) else { return expect(false) }
    guard case .complete("second", roots: [0]) = calls.received(root: 0) else { return expect(false) }
    guard case .unexpected = calls.received(root: 0) else { return expect(false) }
    expect(calls.count == 0 && calls.earliestDeadline == nil)
  }

  @Test func manyCallsKeepTheirOrder() {
    var calls = InFlight<Int>()
    var next = 0
    for id in 0..<1000 {
      calls.append(.init(missing: 1, deadline: 0, offset: 0, waiter: id))
      guard id % 3 != 0 else { continue }
      guard case .complete(next, _) = calls.received(root: 0) else { return expect(false) }
      next += 1
    }
    expect(calls.count, is: 1000 - next)
    expect(calls.removeAll().map(\.waiter), is: Array(next..<1000))
    expect(calls.count, is: 0)
  }
}
