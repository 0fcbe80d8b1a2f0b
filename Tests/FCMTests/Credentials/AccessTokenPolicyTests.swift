import PushCore
import PushTransport
import TestKit
import Testing

@testable import FCM

/// A policy with a clock. The chance is 0.5, so every jitter is zero.
struct PolicyHistory {
  var policy: AccessTokenPolicy
  var now = 1_000_000
  var wakeAt: Int?
  var request: AccessTokenPolicy.Request?

  init(_ rules: AccessTokenPolicy.Rules = .serviceAccount) { policy = AccessTokenPolicy(rules) }

  /// Handles an event, and returns its actions.
  @discardableResult
  mutating func send(_ event: AccessTokenPolicy.Event, chance: Double = 0.5) -> AccessTokenPolicy.Actions {
    let actions = policy.handle(event, now: now, chance: chance)
    if let next = actions.request { request = next }
    wakeAt = actions.wakeAt
    return actions
  }

  /// Answers the last request.
  @discardableResult
  mutating func answer(_ answer: AccessTokenAnswer, chance: Double = 0.5) -> AccessTokenPolicy.Actions {
    send(.answered(serial: request?.serial ?? 0, answer), chance: chance)
  }

  /// Moves the clock to the next due time, and returns the actions.
  mutating func wake() throws -> AccessTokenPolicy.Actions {
    now = max(now, try #require(wakeAt))
    return send(.woke)
  }

  var text: String? { policy.authorization(now)?.text }
  var generation: Int { policy.authorization(now)?.generation ?? 0 }
}

@Suite struct AccessTokenPolicyTests {
  private static let hour = 3_600_000

  private static func withToken(_ rules: AccessTokenPolicy.Rules = .serviceAccount) -> PolicyHistory {
    var history = PolicyHistory(rules)
    history.send(.asked)
    history.answer(.token("one", lifetime: hour))
    return history
  }

  @Test func firstCallerStartsOneRequest() {
    var history = PolicyHistory()
    expect(history.send(.woke), is: .init(request: nil, wakeAt: nil, hasChanged: false))
    expect(history.send(.asked).request, is: .init(serial: 1, timeCorrection: 0))
    for _ in 0..<50 { expect(history.send(.asked).request, is: nil) }
    let actions = history.answer(.token("one", lifetime: Self.hour))
    expect(actions.hasChanged && actions.request == nil)
    expect(history.text, is: "one")
  }

  @Test(arguments: [(0.0, 0.675), (0.5, 0.75), (1.0, 0.825)])
  func tokenIsRenewedAtThreeQuartersOfItsLife(chance: Double, share: Double) throws {
    var history = PolicyHistory()
    let start = history.now
    history.send(.asked)
    history.answer(.token("one", lifetime: Self.hour), chance: chance)
    let due = start + Int(Double(Self.hour) * share)
    expect(history.wakeAt, is: due)
    history.now = due - 1
    expect(history.send(.woke).request, is: nil)
    expect(try history.wake().request != nil)
    expect(history.text, is: "one")
    history.answer(.token("two", lifetime: Self.hour))
    expect(history.text == "two" && history.generation == 2)
  }

  @Test func metadataServerIsAskedInTheLastFourMinutes() throws {
    for chance in [0, 0.5, 1] {
      var history = PolicyHistory(.metadataServer)
      let end = history.now + Self.hour
      history.send(.asked)
      history.answer(.token("one", lifetime: Self.hour), chance: chance)
      let due = try #require(history.wakeAt)
      expect(due >= end - 240_000 && due <= end - 180_000, "\(end - due)")
    }
    // The server returned a token from its cache that has three minutes left.
    var history = PolicyHistory(.metadataServer)
    history.send(.asked)
    history.answer(.token("one", lifetime: 180_000))
    expect(history.wakeAt, is: history.now + 135_000)
  }

  @Test func lifeIsCountedFromTheRequest() {
    var history = PolicyHistory()
    history.send(.asked)
    history.now += 20_000
    history.answer(.token("one", lifetime: 60_000))
    history.now += 39_999
    expect(history.text, is: "one")
    history.now += 1
    expect(history.text, is: nil)
  }

  @Test func tokenThatArrivesTooLateIsAFailure() {
    var history = PolicyHistory()
    history.send(.asked)
    history.now += 5000
    expect(history.answer(.token("one", lifetime: 5000)).wakeAt, is: history.now + 1000)
    expect(history.text, is: nil)
  }

  @Test func failuresBackOffWhileTheOldTokenServes() throws {
    var history = Self.withToken()
    let end = history.now + Self.hour
    _ = try history.wake()
    var pauses: [Int] = []
    for _ in 0..<9 {
      history.answer(.later("down"))
      pauses.append(try #require(history.wakeAt) - history.now)
      expect(history.text, is: "one")
      expect(history.policy.delay(history.now), is: nil)
      expect(try history.wake().request != nil)
    }
    expect(pauses, is: [1, 2, 4, 8, 16, 32, 60, 60, 60].map { $0 * 1000 })
    history.answer(.later("down"))
    history.now = end
    expect(history.text, is: nil)
    expect(history.policy.delay(history.now), is: "down")
    expect(history.policy.stopped(history.now), is: nil)
    history.send(.woke)
    let actions = history.answer(.token("two", lifetime: Self.hour))
    expect(actions.hasChanged && history.text == "two")
    expect(history.policy.delay(history.now), is: nil)
  }

  @Test(arguments: [(AccessTokenPolicy.Rules.serviceAccount, 3), (.metadataServer, 5)])
  func missingTokenIsReportedAfterSomeTries(rules: AccessTokenPolicy.Rules, tries: Int) throws {
    var history = PolicyHistory(rules)
    history.send(.asked)
    for failure in 1...tries {
      expect(history.policy.delay(history.now), is: nil)
      history.answer(.later("down \(failure)"))
      if failure < tries { _ = try history.wake() }
    }
    expect(history.policy.delay(history.now), is: "down \(tries)")
  }

  @Test func refusedTokenIsReplacedByOneRequest() {
    var history = Self.withToken()
    history.now += 10_000
    let actions = history.send(.tokenRefused(generation: 1))
    expect(actions.request != nil && actions.hasChanged)
    expect(history.text, is: nil, "a refused token must not be sent again")
    for _ in 0..<100 { expect(history.send(.tokenRefused(generation: 1)).request, is: nil) }
    history.answer(.token("two", lifetime: Self.hour))
    expect(history.text, is: "two")
    // Answers to pushes that were sent with the first token come late.
    expect(history.send(.tokenRefused(generation: 1)).request, is: nil)
    expect(history.text, is: "two")
  }

  @Test(arguments: [(59_999, true), (60_000, false)])
  func secondRefusalOfAYoungTokenStopsTheCredential(age: Int, stops: Bool) {
    var history = Self.withToken()
    history.send(.tokenRefused(generation: 1))
    history.answer(.token("two", lifetime: Self.hour))
    history.now += age
    let actions = history.send(.tokenRefused(generation: 2))
    expect(history.policy.stopped(history.now) != nil, is: stops)
    expect(actions.request == nil, is: stops)
    expect(history.text, is: nil)
  }

  /// A push that was sent shortly before the end of its token is refused. The next token is then judged alone.
  @Test func refusalOfAnExpiredTokenSaysNothing() {
    var history = Self.withToken()
    history.now += Self.hour
    expect(history.send(.asked).request != nil)
    expect(history.send(.tokenRefused(generation: 1)), is: .init(request: nil, wakeAt: nil, hasChanged: false))
    history.answer(.token("two", lifetime: Self.hour))
    history.now += 1
    expect(history.send(.tokenRefused(generation: 2)).request != nil)
    expect(history.policy.stopped(history.now), is: nil)
  }

  @Test func firstRefusalOfAYoungTokenDoesNotStop() {
    var history = Self.withToken()
    history.now += 1
    expect(history.send(.tokenRefused(generation: 1)).request != nil)
    expect(history.policy.stopped(history.now), is: nil)
  }

  @Test func refusalEndsABackOff() throws {
    var history = Self.withToken()
    _ = try history.wake()
    for _ in 0..<6 {
      history.answer(.later("down"))
      _ = try history.wake()
    }
    history.answer(.later("down"))
    history.now += 1
    expect(history.send(.tokenRefused(generation: 1)).request != nil)
  }

  @Test func refusedKeyStopsAtTheEndOfTheToken() throws {
    var history = Self.withToken()
    let end = history.now + Self.hour
    _ = try history.wake()
    expect(!history.answer(.refused("deleted")).hasChanged)
    expect(history.text == "one" && history.policy.stopped(history.now) == nil)
    expect(history.wakeAt, is: end)
    let actions = try history.wake()
    expect(actions, is: .init(request: nil, wakeAt: nil, hasChanged: true))
    expect(history.policy.stopped(history.now), is: .init(reason: CredentialReason.keyRefused, text: "deleted"))
    expect(history.send(.asked).request, is: nil)
    expect(history.send(.resumed).request != nil)
    expect(history.policy.stopped(history.now), is: nil)
  }

  @Test func refusedKeyOfAValidTokenIsTriedAgain() throws {
    var history = Self.withToken()
    _ = try history.wake()
    expect(history.policy.renewalProblem(history.now), is: nil)
    history.answer(.refused("deleted"))
    expect(history.policy.renewalProblem(history.now), is: "deleted")
    // Campaigns that begin within ten seconds of a request cause no other one.
    history.now += 9999
    expect(history.send(.resumed).request, is: nil)
    history.now += 1
    expect(history.send(.resumed).request != nil)
    expect(history.policy.renewalProblem(history.now), is: "deleted", "the problem is known until the answer")
    history.answer(.later("no answer"))
    expect(history.policy.renewalProblem(history.now) == "deleted" && history.text == "one")
    history.now += 10_000
    expect(history.send(.resumed).request != nil)
    expect(history.answer(.token("two", lifetime: Self.hour)).hasChanged)
    expect(history.policy.renewalProblem(history.now) == nil && history.text == "two")
    expect(history.send(.resumed).request, is: nil)
  }

  @Test func endpointThatFailsIsReportedWhileTheTokenIsValid() throws {
    var history = Self.withToken()
    for number in 1...4 {
      _ = try history.wake()
      history.answer(.later("no answer"))
      expect(history.policy.renewalProblem(history.now), is: number < 3 ? nil : "no answer")
    }
    // The source repeats the request without a resume.
    expect(history.send(.resumed).request, is: nil)
    expect(try history.wake().request != nil)
    history.answer(.token("two", lifetime: Self.hour))
    expect(history.policy.renewalProblem(history.now), is: nil)
  }

  @Test func refusedTokenEndsTheGraceOfARefusedKey() throws {
    var history = Self.withToken()
    _ = try history.wake()
    history.answer(.refused("deleted"))
    expect(history.send(.tokenRefused(generation: 1)), is: .init(request: nil, wakeAt: nil, hasChanged: true))
    expect(history.policy.stopped(history.now)?.text, is: "deleted")
  }

  @Test func credentialThatFCMRefusesStopsImmediately() {
    var history = Self.withToken()
    let reason = ReasonCode(rawValue: 9)
    expect(!history.send(.credentialRefused(reason, "no role", generation: 7)).hasChanged)
    expect(history.send(.credentialRefused(reason, "no role", generation: 1)).hasChanged)
    expect(history.policy.stopped(history.now), is: .init(reason: reason, text: "no role"))
    expect(history.text, is: nil)
    expect(history.send(.resumed).request != nil)
  }

  @Test func wrongTimeIsCorrectedOnceWithTheClockOfTheEndpoint() {
    var history = PolicyHistory()
    history.send(.asked)
    let second = history.answer(.wrongTime(ahead: 600, "ahead")).request
    expect(second, is: .init(serial: 2, timeCorrection: -600))
    history.answer(.token("one", lifetime: Self.hour))
    expect(history.text == "one" && history.policy.timeCorrection == -600)
    // The wrong clock was set right. The next request shows this.
    history.now += Self.hour
    expect(history.send(.asked).request?.timeCorrection, is: -600)
    expect(history.answer(.wrongTime(ahead: -600, "behind")).request?.timeCorrection, is: 0)
    history.answer(.wrongTime(ahead: 300, "still wrong"))
    expect(history.policy.stopped(history.now)?.text, is: "still wrong")
  }

  @Test func newKeyReplacesARequestAndEndsAStop() {
    var history = Self.withToken()
    history.now += 1000
    let first = history.send(.replaced).request
    expect(first != nil && history.text == "one")
    let second = history.send(.replaced).request
    expect(second != nil && second != first)
    history.send(.answered(serial: first?.serial ?? 0, .refused("the old key")))
    expect(history.policy.stopped(history.now), is: nil)
    history.answer(.token("two", lifetime: Self.hour))
    expect(history.text, is: "two")
    history.send(.credentialRefused(.other, "no role", generation: 2))
    expect(history.send(.replaced).request != nil)
    expect(history.policy.stopped(history.now), is: nil)
  }

  @Test func replacementOfAnUnusedKeyRequestsNothing() {
    var history = PolicyHistory()
    expect(history.send(.replaced), is: .init(request: nil, wakeAt: nil, hasChanged: false))
  }

  @Test func tokensOfSomeSecondsAreRenewedToo() throws {
    var history = PolicyHistory()
    history.send(.asked)
    history.answer(.token("one", lifetime: 100))
    expect(history.wakeAt, is: history.now + 1000)
    expect(try history.wake().request != nil)
  }
}
