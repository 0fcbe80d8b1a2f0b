import FCM
import PushCore
import TestKit
import TestSupport
import Testing

struct AnswerTests {
  private let service = FCMService(project: "demo")
  private let policy = RetryPolicy(tooManyRequests: 2_000, attempts: 5)

  private func reply(_ status: UInt16, _ body: some Collection<UInt8>, retryAfter: UInt16 = 0) -> PushReply {
    Array(body).withUnsafeBytes { service.reply(status: status, body: $0, retryAfter: retryAfter) }
  }

  private func decide(_ answer: PushAnswer, attempt: Int = 1) -> Disposition {
    Disposition.decide(
      answer, attempt: attempt, of: service, policy: policy, ambiguity: .resend, jitter: 0, isBreakerOpen: false)
  }

  @Test(arguments: AnswerTable.rows)
  func answerHasItsReasonAndItsConsequence(row: AnswerRow) {
    let answer = reply(row.status, row.body.utf8, retryAfter: row.retryAfter).answer
    expect(FCMReason(answer.reason), is: row.reason)
    let disposition = decide(answer)
    expect(disposition.target, is: row.target)
    expect(disposition.token, is: row.token)
    expect(disposition.effect, is: row.effect)
    expect(disposition.countsAttempt, is: row.countsAttempt)
    expect(!service.blamesToken(answer))
  }

  @Test func tableHasARowForEachReason() {
    // Two reasons come from the credential, and not from an answer.
    expect(Set(AnswerTable.rows.map(\.reason)).union([.keyRefused, .tokenRefused]), is: Set(FCMReason.allCases))
  }

  /// A body may be cut at any place. A cut body prunes or quarantines a token only if it contains the whole proof.
  @Test(arguments: AnswerTable.rows)
  func cutBodyProvesNothingMore(row: AnswerRow) {
    for length in 0..<row.body.utf8.count {
      let disposition = decide(reply(row.status, row.body.utf8.prefix(length)).answer)
      expect(disposition.token == .keep || disposition.token == row.token)
    }
  }

  @Test func randomBodiesAreReadToTheirEnd() {
    var seed = Seed("randomBodiesAreReadToTheirEnd")
    let pieces = ["{", "}", "[", "]", "\"", "\\", ":", ",", "error", "\"details\"", "\"@type\"", " ", "1", "null"]
    for _ in 0..<2000 {
      let body = (0..<Int.random(in: 0..<40, using: &seed)).map { _ in pieces.randomElement(using: &seed) ?? "" }
      expect(decide(reply(404, body.joined().utf8).answer).token, is: .keep)
    }
    expect(reply(404, String(repeating: "[", count: 100_000).utf8).answer.reason, is: .none)
  }

  @Test(arguments: [500, 502, 503, 504, 507] as [UInt16], FCMReason.allCases)
  func serverErrorNeverJudgesATokenOrTheCredential(status: UInt16, reason: FCMReason) {
    let disposition = decide(PushAnswer(kind: .answered, status: status, reason: reason.code))
    expect(disposition.token == .keep && disposition.effect == .none && disposition.countsAttempt)
  }

  @Test func onlyA404PrunesAnUnregisteredToken() {
    for status: UInt16 in 400..<500 where status != 404 {
      let disposition = decide(PushAnswer(kind: .answered, status: status, reason: FCMReason.unregistered.code))
      expect(disposition.token, is: .quarantine)
    }
  }

  @Test func delayGrowsWithEachAttempt() {
    let failing = PushAnswer(kind: .answered, status: 503, reason: FCMReason.unavailable.code)
    expect((1...4).map { decide(failing, attempt: $0).target }, is: [10, 40, 160, 640].map(Self.after))
    let gateway = PushAnswer(kind: .answered, status: 502, reason: FCMReason.none.code)
    expect((1...4).map { decide(gateway, attempt: $0).target }, is: [30, 40, 160, 640].map(Self.after))
    let device = PushAnswer(kind: .answered, status: 429, reason: FCMReason.targetQuotaExceeded.code)
    expect((1...3).map { decide(device, attempt: $0).target }, is: [60, 120, 240].map(Self.after))
    let project = PushAnswer(kind: .answered, status: 429, reason: FCMReason.projectQuotaExceeded.code)
    expect(decide(project, attempt: 9).target, is: Self.after(60), "it does not use up attempts")
  }

  /// Sends a push that always gets the same answer, until it has an outcome.
  ///
  /// - Returns: the delays between its attempts in seconds, and its outcome.
  private func attempts(
    at answer: PushAnswer, _ policy: RetryPolicy, jitter: () -> Double
  ) -> (delays: [Double], outcome: Outcome?) {
    var history = AttemptHistory()
    var delays: [Double] = []
    while delays.count < 100 {
      let decided = Disposition.decide(
        answer, attempt: history.counted + 1, of: service, policy: policy, ambiguity: .resend, jitter: jitter())
      switch decided.target {
      case .finish(let outcome): return (delays, outcome)
      case .retry(let milliseconds): delays.append(Double(milliseconds) / 1000)
      case .resendNow: delays.append(0)
      }
      history.count(decided.countedAttempts)
    }
    return (delays, nil)
  }

  /// Google asks senders to give up 60 minutes after the first attempt. The number of attempts decides nothing.
  @Test(
    arguments: [
      (500, .internalError), (502, .none), (503, .unavailable), (504, .none), (429, .targetQuotaExceeded),
    ] as [(UInt16, FCMReason)])
  func retriesEndAfterSixtyMinutes(status: UInt16, reason: FCMReason) {
    var seed = Seed("retriesEndAfterSixtyMinutes")
    let policies = [
      RetryPolicy(), RetryPolicy(attempts: 1), RetryPolicy(attempts: 20, jitter: 1),
      RetryPolicy(firstServerError: 1000, serverError: 1000, tooManyRequests: 1000, longest: 1000),
      RetryPolicy(firstServerError: 3_600_000, serverError: 86_400_000, longest: 86_400_000),
    ]
    for policy in policies {
      for retryAfter in [0, 7, 45, 300, 600, 1201, 1800, 3600, 40_000] as [UInt16] {
        let answer = PushAnswer(kind: .answered, status: status, reason: reason.code, retryAfter: retryAfter)
        let (delays, outcome) = attempts(at: answer, policy) { .random(in: 0...1, using: &seed) }
        expect(outcome == .failed && delays.allSatisfy { $0 >= 10 }, "\(delays)")
        // Another delay as long as `Retry-After` asks for would have exceeded the time.
        let total = delays.reduce(0, +) / 60
        let least = 60 - max(10, 1.1 * Double(retryAfter) / 60)
        expect(total >= least && total <= 64, "\(policy) \(retryAfter): \(delays)")
      }
    }
  }

  @Test func pushGetsEightAttemptsByDefault() {
    let internalError = PushAnswer(kind: .answered, status: 500, reason: FCMReason.internalError.code)
    let (delays, _) = attempts(at: internalError, RetryPolicy(jitter: 0)) { 0 }
    expect(delays, is: [10, 40, 160, 900, 900, 900, 600])
  }

  /// The device may get every attempt without an answer, so there are few of them.
  @Test func unansweredPushGetsNineAttempts() {
    for number in [1, 5, 20] {
      let (delays, outcome) = attempts(at: PushAnswer(kind: .ambiguous), RetryPolicy(attempts: number, jitter: 0)) { 0 }
      expect(outcome == .unknown && delays == [10, 10, 20, 40, 80, 160, 1280, 1860])
    }
  }

  /// The minimum delays of FCM take precedence over `retry.longest`.
  @Test func shortLongestDelayKeepsTheMinimaOfFCM() {
    let policy = RetryPolicy(firstServerError: 1000, serverError: 1000, tooManyRequests: 1000, longest: 1000)
    func delay(_ status: UInt16, _ reason: FCMReason, retryAfter: UInt16 = 0) -> Disposition.Target {
      Disposition.decide(
        PushAnswer(kind: .answered, status: status, reason: reason.code, retryAfter: retryAfter), attempt: 1,
        of: service, policy: policy, ambiguity: .resend, jitter: 0
      ).target
    }
    expect(delay(429, .projectQuotaExceeded), is: Self.after(60))
    expect(delay(429, .targetQuotaExceeded), is: Self.after(60))
    expect(delay(429, .projectQuotaExceeded, retryAfter: 30), is: Self.after(30))
    expect(delay(503, .unavailable, retryAfter: 300), is: Self.after(60), "delays have at least a 60th part of an hour")
    expect(delay(502, .none), is: Self.after(30))
    expect(delay(503, .unavailable), is: Self.after(10))
  }

  /// Only a limit per minute in a refusal of the project counts. A limit per day does not count.
  @Test(arguments: [
    ("RATE_LIMIT_EXCEEDED", #""quota_limit_value":"1200","quota_unit":"1/min/{project}""#, 1200),
    ("RATE_LIMIT_EXCEEDED", #""quota_unit":"1/min/{project}","quota_limit_value":"600000""#, 600_000),
    ("RATE_LIMIT_EXCEEDED", #""quota_limit_value":"1200""#, 1200),
    ("RATE_LIMIT_EXCEEDED", #""quota_limit_value":"1200","quota_unit":"1/d/{project}""#, 0),
    ("RATE_LIMIT_EXCEEDED", #""quota_limit_value":"-1","quota_unit":"1/min/{project}""#, 0),
    ("RATE_LIMIT_EXCEEDED", #""quota_limit_value":"99999999999","quota_unit":"1/min/{project}""#, 0),
    ("RATE_LIMIT_EXCEEDED", #""quota_limit_value":1200"#, 0),
    ("SERVICE_DISABLED", #""quota_limit_value":"1200""#, 0),
  ])
  func limitOfTheProjectIsRead(reason: String, metadata: String, limit: UInt32) {
    let type = #""@type":"type.googleapis.com/google.rpc.ErrorInfo""#
    for detail in [
      #"{\#(type),"reason":"\#(reason)","metadata":{\#(metadata)}}"#,
      #"{"metadata":{\#(metadata)},"reason":"\#(reason)",\#(type)}"#,
    ] {
      let body = AnswerTable.error(429, "RESOURCE_EXHAUSTED", "", detail)
      expect(reply(429, body.utf8).answer.quotaPerMinute, is: limit)
    }
  }

  @Test func quotaBelongsToTheProject() {
    expect(service.quota, is: ServiceQuota(name: "fcm:demo", perSecond: 10_000, rampSeconds: 60))
    expect(FCMService().quota, is: nil)
  }

  private static func after(_ seconds: Int) -> Disposition.Target { .retry(afterMilliseconds: seconds * 1000) }

  @Test func expiredAccessTokenIsReportedToTheCredential() {
    func meaning(_ status: UInt16, _ reason: FCMReason) -> AnswerMeaning {
      service.meaning(of: PushAnswer(kind: .answered, status: status, reason: reason.code), generation: 3)
    }
    expect(meaning(401, .unauthenticated), is: AnswerMeaning(blame: .clears, event: .tokenExpired(generation: 3)))
    expect(meaning(401, .none).event, is: .tokenExpired(generation: 3))
    expect(meaning(401, .thirdPartyAuthError), is: AnswerMeaning(blame: .clears))
    expect(meaning(404, .unregistered), is: AnswerMeaning(blame: .clears))
    expect(meaning(502, .none), is: AnswerMeaning(blame: .counts))
    let denied = PushAnswer(kind: .answered, status: 403, reason: FCMReason.serviceDisabled.code)
    expect(
      service.refusal(of: denied, unknownReason: nil, generation: 3),
      is: .refused(FCMReason.serviceDisabled.code, generation: 3))
  }

  @Test(arguments: [(500, false), (501, false), (502, true), (503, true), (504, true), (505, false), (429, false)])
  func gatewayErrorsAndUnavailabilityAreOutages(status: Int, isOutage: Bool) {
    expect(service.isUnavailable(PushAnswer(kind: .answered, status: UInt16(status))), is: isOutage)
  }

  @Test func unknownWordIsKeptInPrintableForm() {
    let reply = reply(418, AnswerTable.error(418, "TEAPOT", "", AnswerTable.fcm("Tea\u{1b}é" + longText)).utf8)
    expect(reply.answer.reason, is: .other)
    expect(reply.unknownReason, is: "Tea???" + longText.prefix(58))
  }

  private let longText = String(repeating: "x", count: 70)

  @Test(arguments: FCMReason.allCases)
  func reasonHasItsCodeAndItsText(reason: FCMReason) {
    expect(FCMReason(reason.code), is: reason)
    expect(service.reasonName(of: reason.code), is: reason.name)
  }

  @Test(arguments: ["fK3dQ0bLQ0mB1x2y3z4A5b:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx", "cOfs8TqJQ0-B1x2y3z4A5_"])
  func tokenIsItsOwnText(text: String) {
    expect(service.token(text).map { service.text(of: $0) }, is: text)
    expect(service.token(" \(text)\n"), is: service.token(text))
    expect(service.token("\(text) \(text)"), is: nil)
  }
}
