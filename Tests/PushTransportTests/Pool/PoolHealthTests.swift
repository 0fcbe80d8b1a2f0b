import PushCore
import TestKit
import Testing

@testable import APNs
@testable import PushTransport

@Suite("Health of a pool")
struct PoolHealthTests {
  private static let second: UInt64 = 1_000_000_000

  private func connection(
    _ phase: ConnectionState.Phase = .closed, inFlight: Int = 0, busySince: UInt64 = 0, openedAt: UInt64? = nil,
    answeredAt: UInt64? = nil
  ) -> ConnectionState {
    var state = ConnectionState()
    state.phase = phase
    state.inFlight = inFlight
    state.busySince = busySince
    state.openedAt = openedAt
    state.answeredAt = answeredAt
    return state
  }

  private func health(
    _ connections: [ConnectionState], at seconds: Double, failure: (since: UInt64, reason: String)? = nil,
    waitingSince: UInt64? = nil, breakerOpenSince: UInt64? = nil, stopped: ReasonCode? = nil,
    delay: (since: UInt64, reason: String)? = nil
  ) -> PoolHealth {
    PoolHealth(
      .init(
        stopped: stopped, delay: delay, breakerOpenSince: breakerOpenSince, connections: connections,
        failure: failure, waitingSince: waitingSince),
      now: UInt64(seconds * 1e9))
  }

  @Test("a new or idle pool is ready")
  func rests() {
    expect(health([connection(), connection()], at: 100), is: .ready)
    let rested = connection(.established, openedAt: Self.second, answeredAt: 2 * Self.second)
    expect(health([rested, connection()], at: 100), is: .ready)
  }

  @Test("a connection that opens is connecting at first, and unreachable if it does not open in time")
  func opening() {
    let opening = connection(.opening, inFlight: 1, busySince: 10 * Self.second, openedAt: 10 * Self.second)
    expect(health([opening], at: 11.9), is: .connecting(since: 10 * Self.second))
    expect(health([opening], at: 12), is: .unreachable(since: 10 * Self.second, reason: "no answer yet"))
  }

  @Test("failures count from the first until an answer, whatever is tried in between")
  func failing() {
    let failure = (since: 3 * Self.second, reason: "refused")
    let opening = connection(.opening, openedAt: 10 * Self.second)
    expect(health([connection()], at: 9, failure: failure), is: .unreachable(since: 3 * Self.second, reason: "refused"))
    expect(health([opening], at: 10, failure: failure), is: .unreachable(since: 3 * Self.second, reason: "refused"))
    // One working connection is enough.
    let established = connection(.established, openedAt: 0, answeredAt: Self.second)
    expect(health([opening, established], at: 10, failure: failure), is: .ready)
  }

  @Test("an open connection without pushes does not count while pushes wait for one that fails")
  func waiting() {
    let failure = (since: 3 * Self.second, reason: "refused")
    let unused = connection(.established, openedAt: 0, answeredAt: Self.second)
    let unreachable = PoolHealth.unreachable(since: 3 * Self.second, reason: "refused")
    expect(health([unused, connection()], at: 9, failure: failure), is: .ready)
    expect(health([unused, connection()], at: 9, failure: failure, waitingSince: 8 * Self.second), is: .ready)
    expect(health([unused, connection()], at: 10, failure: failure, waitingSince: 8 * Self.second), is: unreachable)
    expect(health([unused, connection()], at: 4.9, failure: failure, waitingSince: 0), is: .ready)
    expect(health([unused, connection()], at: 5, failure: failure, waitingSince: 0), is: unreachable)
    // Pushes also wait while every connection is busy.
    let answering = connection(.established, inFlight: 1, openedAt: 0, answeredAt: 9 * Self.second)
    expect(health([answering, connection()], at: 10, failure: failure, waitingSince: 0), is: .ready)
    expect(health([unused, connection()], at: 10, waitingSince: 0), is: .ready)
  }

  @Test("pushes in flight without an answer for two seconds: unresponsive, unless another connection is answered")
  func silence() {
    let silent = connection(.established, inFlight: 5, busySince: Self.second, openedAt: 0, answeredAt: 4 * Self.second)
    expect(health([silent], at: 5.9), is: .ready)
    expect(health([silent], at: 6), is: .unresponsive(since: 4 * Self.second))
    let idle = connection(.established, openedAt: 0, answeredAt: Self.second)
    expect(health([silent, idle], at: 6), is: .unresponsive(since: 4 * Self.second))
    let answering = connection(.established, inFlight: 1, openedAt: 0, answeredAt: 5 * Self.second)
    expect(health([silent, answering], at: 6), is: .ready)
    // After an idle time, the silence is counted from the first push.
    let woken = connection(.established, inFlight: 1, busySince: 50 * Self.second, openedAt: 0, answeredAt: Self.second)
    expect(health([woken], at: 51), is: .ready)
    expect(health([woken], at: 52), is: .unresponsive(since: 50 * Self.second))
  }

  @Test("rejections are answers: a connection that gets nothing else is ready")
  func rejections() {
    let rejecting = connection(.opening, inFlight: 1, busySince: 0, openedAt: Self.second, answeredAt: 8 * Self.second)
    expect(health([rejecting], at: 9, failure: (since: 0, reason: "once")), is: .ready)
  }

  @Test("a stopped credential and an open breaker take precedence over connections")
  func precedence() {
    let failure = (since: Self.second, reason: "refused")
    expect(
      health([], at: 9, failure: failure, breakerOpenSince: 2 * Self.second), is: .breakerOpen(since: 2 * Self.second))
    expect(
      health([], at: 9, breakerOpenSince: 2, stopped: Reason.invalidProviderToken.code),
      is: .credentialStopped(Reason.invalidProviderToken.code))
  }

  @Test("without an authorization a pool can't send, whatever its connections do")
  func delayedCredential() {
    let delay = (since: Self.second, reason: "no access token")
    let answering = connection(.established, inFlight: 1, openedAt: 0, answeredAt: 5 * Self.second)
    expect(
      health([answering], at: 6, delay: delay), is: .credentialDelayed(since: Self.second, reason: "no access token"))
    expect(
      health([answering], at: 6, stopped: Reason.invalidProviderToken.code, delay: delay),
      is: .credentialStopped(Reason.invalidProviderToken.code))
  }
}
