import FCM
import PushCore
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
    #expect(FCMReason(answer.reason) == row.reason)
    let disposition = decide(answer)
    #expect(disposition.target == row.target)
    #expect(disposition.token == row.token)
    #expect(disposition.effect == row.effect)
    #expect(disposition.countsAttempt == row.countsAttempt)
    #expect(!service.blamesToken(answer))
  }

  @Test func tableHasARowForEachReason() {
    // Two reasons come from the credential, and not from an answer.
    #expect(Set(AnswerTable.rows.map(\.reason)).union([.keyRefused, .tokenRefused]) == Set(FCMReason.allCases))
  }

  /// A body may be cut at any place. A cut body prunes or quarantines a token only if it contains the whole proof.
  @Test(arguments: AnswerTable.rows)
  func cutBodyProvesNothingMore(row: AnswerRow) {
    for length in 0..<row.body.utf8.count {
      let disposition = decide(reply(row.status, row.body.utf8.prefix(length)).answer)
      #expect(disposition.token == .keep || disposition.token == row.token)
    }
  }

  @Test func randomBodiesAreReadToTheirEnd() {
    var seed = Seed("randomBodiesAreReadToTheirEnd")
    let pieces = ["{", "}", "[", "]", "\"", "\\", ":", ",", "error", "\"details\"", "\"@type\"", " ", "1", "null"]
    for _ in 0..<2000 {
      let body = (0..<Int.random(in: 0..<40, using: &seed)).map { _ in pieces.randomElement(using: &seed) ?? "" }
      #expect(decide(reply(404, body.joined().utf8).answer).token == .keep)
    }
    #expect(reply(404, String(repeating: "[", count: 100_000).utf8).answer.reason == .none)
  }

  @Test(arguments: [500, 502, 503, 504, 507] as [UInt16], FCMReason.allCases)
  func serverErrorNeverJudgesATokenOrTheCredential(status: UInt16, reason: FCMReason) {
    let disposition = decide(PushAnswer(kind: .answered, status: status, reason: reason.code))
    #expect(disposition.token == .keep && disposition.effect == .none && disposition.countsAttempt)
  }

  @Test func onlyA404PrunesAnUnregisteredToken() {
    for status: UInt16 in 400..<500 where status != 404 {
      let disposition = decide(PushAnswer(kind: .answered, status: status, reason: FCMReason.unregistered.code))
      #expect(disposition.token == .quarantine)
    }
  }

  @Test func delayGrowsWithEachAttempt() {
    let failing = PushAnswer(kind: .answered, status: 503, reason: FCMReason.unavailable.code)
    #expect((1...4).map { decide(failing, attempt: $0).target } == [10, 40, 160, 640].map(Self.after))
    let gateway = PushAnswer(kind: .answered, status: 502, reason: FCMReason.none.code)
    #expect((1...4).map { decide(gateway, attempt: $0).target } == [30, 40, 160, 640].map(Self.after))
    let device = PushAnswer(kind: .answered, status: 429, reason: FCMReason.targetQuotaExceeded.code)
    #expect((1...3).map { decide(device, attempt: $0).target } == [60, 120, 240].map(Self.after))
    let project = PushAnswer(kind: .answered, status: 429, reason: FCMReason.projectQuotaExceeded.code)
    #expect(decide(project, attempt: 9).target == Self.after(60), "it does not use up attempts")
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
    #expect(delay(429, .projectQuotaExceeded) == Self.after(60))
    #expect(delay(429, .targetQuotaExceeded) == Self.after(60))
    #expect(delay(429, .projectQuotaExceeded, retryAfter: 30) == Self.after(10))
    #expect(delay(502, .none) == Self.after(30))
    #expect(delay(503, .unavailable) == Self.after(10))
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
      #expect(reply(429, body.utf8).answer.quotaPerMinute == limit)
    }
  }

  @Test func quotaBelongsToTheProject() {
    #expect(service.quota == ServiceQuota(name: "fcm:demo", perSecond: 10_000, rampSeconds: 60))
    #expect(FCMService().quota == nil)
  }

  private static func after(_ seconds: Int) -> Disposition.Target { .retry(afterMilliseconds: seconds * 1000) }

  @Test func expiredAccessTokenIsReportedToTheCredential() {
    func meaning(_ status: UInt16, _ reason: FCMReason) -> AnswerMeaning {
      service.meaning(of: PushAnswer(kind: .answered, status: status, reason: reason.code), generation: 3)
    }
    #expect(meaning(401, .unauthenticated) == AnswerMeaning(blame: .clears, event: .tokenExpired(generation: 3)))
    #expect(meaning(401, .none).event == .tokenExpired(generation: 3))
    #expect(meaning(401, .thirdPartyAuthError) == AnswerMeaning(blame: .clears))
    #expect(meaning(404, .unregistered) == AnswerMeaning(blame: .clears))
    #expect(meaning(502, .none) == AnswerMeaning(blame: .counts))
    let denied = PushAnswer(kind: .answered, status: 403, reason: FCMReason.serviceDisabled.code)
    #expect(
      service.refusal(of: denied, unknownReason: nil, generation: 3)
        == .refused(FCMReason.serviceDisabled.code, generation: 3))
  }

  @Test(arguments: [(500, false), (501, false), (502, true), (503, true), (504, true), (505, false), (429, false)])
  func gatewayErrorsAndUnavailabilityAreOutages(status: Int, isOutage: Bool) {
    #expect(service.isUnavailable(PushAnswer(kind: .answered, status: UInt16(status))) == isOutage)
  }

  @Test func unknownWordIsKeptInPrintableForm() {
    let reply = reply(418, AnswerTable.error(418, "TEAPOT", "", AnswerTable.fcm("Tea\u{1b}é" + longText)).utf8)
    #expect(reply.answer.reason == .other)
    #expect(reply.unknownReason == "Tea???" + longText.prefix(58))
  }

  private let longText = String(repeating: "x", count: 70)

  @Test(arguments: FCMReason.allCases)
  func reasonHasItsCodeAndItsText(reason: FCMReason) {
    #expect(FCMReason(reason.code) == reason)
    #expect(service.reasonName(of: reason.code) == reason.name)
  }

  @Test(arguments: ["fK3dQ0bLQ0mB1x2y3z4A5b:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx", "cOfs8TqJQ0-B1x2y3z4A5_"])
  func tokenIsItsOwnText(text: String) {
    #expect(service.token(text).map { service.text(of: $0) } == text)
    #expect(service.token(" \(text)\n") == service.token(text))
    #expect(service.token("\(text) \(text)") == nil)
  }
}
