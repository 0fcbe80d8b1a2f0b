import APNs
import PushCore
import TestKit
import Testing

/// Rules of APNs for tokens and reasons.
struct APNsServiceTests {
  private let service = APNsService()

  @Test(
    arguments: [
      ("00ffaa", "00ffaa"), ("<00FF aa>", "00ffaa"), ("0f", "0f"), ("", nil), ("0", nil), ("0g", nil), ("00-ff", nil),
      (String(repeating: "a", count: 400), String(repeating: "a", count: 400)),
      (String(repeating: "a", count: 402), nil),
    ] as [(String, String?)])
  func tokenIsHexOfAnyCaseAndWrittenInLowerCase(text: String, canonical: String?) {
    expect(service.token(text).map { service.text(of: $0) }, is: canonical)
  }

  @Test func shortTextIdentifiesATokenButCannotBeUsed() throws {
    let long = try #require(service.token(String(repeating: "0123456789abcdef", count: 4)))
    expect(service.shortText(of: long), is: "01234567…cdef")
    expect(service.shortText(of: try #require(service.token("0123456789abcdef"))), is: "0123456789abcdef")
  }

  @Test(arguments: Reason.allCases)
  func reasonHasItsCodeAndItsText(reason: Reason) {
    expect(Reason(reason.code), is: reason)
    expect(service.reasonName(of: reason.code), is: reason.name)
  }

  @Test func unknownCodeHasNoTextAndIsAnotherReason() {
    expect(service.reasonText(of: ReasonCode(rawValue: 254)), is: [])
    expect(Reason(ReasonCode(rawValue: 254)), is: .other)
  }

  /// A worker of a newer version may write a code into a ledger that this version reads.
  @Test func codeOfALaterVersionHasAName() {
    let unknown = ReasonCode(rawValue: 200)
    expect(service.reasonText(of: unknown) == [] && service.reasonName(of: unknown) == "Reason200")
    expect(service.reasonName(of: .other) == "" && service.reasonName(of: .none) == "")
    expect(service.reasonName(of: .payloadTooLarge), is: "PayloadTooLargeForTarget")
  }

  @Test(
    arguments: [
      ("alert", "{}", .alert), ("background", "{}", .alert), ("mdm", "{}", .alert), ("voip", "{}", .voip),
      ("complication", "{}", .complication), ("fileprovider", "{}", .fileprovider), ("location", "{}", .location),
      ("pushtotalk", "{}", .pushtotalk), ("controls", "{}", .controls), ("widgets", "{}", .widgets),
      ("liveactivity", #"{"aps":{"event":"start"}}"#, .liveActivityStart),
      ("liveactivity", #"{"aps":{"event":"update"}}"#, .liveActivity),
      ("liveactivity", #"{"event":"start"}"#, .liveActivity),
    ] as [(String, String, TokenKind)])
  func kindOfTokenFollowsFromThePushType(type: String, payload: String, kind: TokenKind) throws {
    let campaign = Campaign(
      id: "a", app: "news", audience: .users(["x"]), payload: Array(payload.utf8), pushType: type)
    expect(service.tokenKind(for: campaign), is: kind)
  }

  @Test func onlyErrorsOfTheTokenCount() {
    func blames(_ status: UInt16, _ reason: Reason) -> Bool {
      service.blamesToken(PushAnswer(kind: .answered, status: status, reason: reason.code))
    }
    expect(blames(400, .badDeviceToken))
    expect(blames(400, .deviceTokenNotForTopic))
    expect(blames(429, .tooManyRequests))
    // APNs does not count a 410 as an error.
    expect(!blames(410, .unregistered))
    expect(!blames(400, .badTopic))
    expect(!blames(403, .invalidProviderToken))
    expect(!blames(503, .serviceUnavailable))
    expect(!service.blamesToken(PushAnswer(kind: .ambiguous)))
  }

  @Test func topicHasTheSuffixOfThePushTypeExceptForBroadcasts() {
    let service = APNsService(AppTraits(topic: "com.example.shop"))
    var campaign = Campaign(id: "a", app: "shop", audience: .users(["x"]), payload: [], pushType: "voip")
    expect(service.headers(of: campaign, expiration: nil).topic, is: "com.example.shop.voip")
    campaign.message.pushType = "liveactivity"
    campaign.recipients.audience = .channel("Y2hhbm5lbA==")
    let headers = service.headers(of: campaign, expiration: 0)
    expect(headers.topic == "com.example.shop" && headers.channel == "Y2hhbm5lbA==")
    expect(headers.request.path == "/4/broadcasts/apps/com.example.shop" && headers.request.tokenInPath == nil)
    let fields = headers.request.fields.map { "\($0.name): \($0.value)" }
    for field in ["apns-channel-id: Y2hhbm5lbA==", "apns-push-type: liveactivity", "apns-expiration: 0"] {
      expect(fields.contains(field), "\(fields)")
    }
    expect(!fields.contains { $0.hasPrefix("apns-topic") || $0.hasPrefix("apns-collapse-id") })
  }

  @Test("a rejection may blame the connection, and the credential gets the rejections that concern it")
  func meanings() {
    func meaning(_ status: UInt16, _ reason: Reason) -> AnswerMeaning {
      service.meaning(of: PushAnswer(kind: .answered, status: status, reason: reason.code), generation: 3)
    }
    expect(meaning(410, .unregistered), is: AnswerMeaning())
    expect(meaning(429, .tooManyRequests), is: AnswerMeaning())
    expect(meaning(503, .shutdown), is: AnswerMeaning(blame: .counts))
    expect(meaning(400, .idleTimeout), is: AnswerMeaning(blame: .replaces))
    expect(meaning(403, .unrelatedKeyIdInToken), is: AnswerMeaning(blame: .replaces))
    expect(
      meaning(403, .expiredProviderToken), is: AnswerMeaning(blame: .replaces, event: .tokenExpired(generation: 3)))
    expect(
      meaning(429, .tooManyProviderTokenUpdates),
      is: AnswerMeaning(blame: .counts, event: .tooManyTokens(generation: 3)))
  }
}
