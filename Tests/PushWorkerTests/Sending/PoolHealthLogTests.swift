import PushTransport
import APNs
import TestKit
import Testing

@testable import PushWorker

@Suite struct PoolHealthLogTests {
  private let minute = PoolHealthLog.interval

  private func open(_ openings: Int = 1) -> PoolState {
    var state = PoolState()
    var connection = ConnectionState()
    connection.phase = .established
    connection.openings = openings
    state.connections = [connection]
    return state
  }

  @Test func poolWithoutAConnectionIsNotLogged() {
    var watch = PoolHealthLog()
    expect(watch.check(at: PoolState(), now: minute), is: [])
    expect(watch.check(at: PoolState(), now: 10 * minute), is: [])
  }

  @Test func connectionsAreLoggedImmediatelyThenOnceAMinute() {
    var watch = PoolHealthLog()
    expect(watch.check(at: open(), now: minute), is: [.connections(open())])
    expect(watch.check(at: open(2), now: 2 * minute - 1), is: [])
    expect(watch.check(at: open(2), now: 2 * minute), is: [.connections(open(2))])
    var closed = open(2)
    closed.connections[0].phase = .closed
    expect(watch.check(at: closed, now: 3 * minute), is: [.connections(closed)])
    expect(watch.check(at: closed, now: 4 * minute), is: [])
    // The last log entry shows the final state, whatever was logged before.
    expect(watch.check(at: closed, now: 4 * minute, isLast: true), is: [.connections(closed)])
  }

  @Test func everyOpeningAndClosingOfTheBreakerIsLogged() {
    var watch = PoolHealthLog()
    var state = PoolState()
    state.breakerOpenings = 1
    state.breaker = .open(until: 1)
    expect(watch.check(at: state, now: 0), is: [.breakerOpened])
    state.breaker = .halfOpen(tag: 1)
    expect(watch.check(at: state, now: 1), is: [])
    state.breaker = .closed
    expect(watch.check(at: state, now: 2), is: [.breakerClosed])
    expect(watch.check(at: state, now: 3), is: [])
    // The breaker opened and closed between two checks.
    state.breakerOpenings = 2
    expect(watch.check(at: state, now: 4), is: [.breakerOpened, .breakerClosed])
  }

  @Test func failuresAreLoggedWithTheLastText() {
    var watch = PoolHealthLog()
    var state = PoolState()
    var connection = ConnectionState()
    connection.failures = 2
    state.connections = [connection]
    state.lastError = "no route"
    expect(watch.check(at: state, now: 0), is: [.failed("no route")])
    expect(watch.check(at: state, now: 1), is: [])
  }
}
