import PushCore
import Testing

/// What APNs says of tokens and reasons.
struct APNsTokensTests {
  private let service = APNsTokens()

  @Test(
    arguments: [
      ("00ffaa", "00ffaa"), ("<00FF aa>", "00ffaa"), ("0f", "0f"), ("", nil), ("0", nil), ("0g", nil), ("00-ff", nil),
      (String(repeating: "a", count: 400), String(repeating: "a", count: 400)),
      (String(repeating: "a", count: 402), nil),
    ] as [(String, String?)])
  func tokenIsHexOfAnyCaseAndWrittenInLowerCase(text: String, canonical: String?) {
    #expect(service.token(text).map { service.text(of: $0) } == canonical)
  }

  @Test func shortTextTellsTokensApartAndIsOfNoUse() throws {
    let long = try #require(service.token(String(repeating: "0123456789abcdef", count: 4)))
    #expect(service.shortText(of: long) == "01234567…cdef")
    #expect(service.shortText(of: try #require(service.token("0123456789abcdef"))) == "0123456789abcdef")
  }

  @Test(arguments: Reason.allCases)
  func reasonHasItsCodeAndItsText(reason: Reason) {
    #expect(Reason(reason.code) == reason)
    #expect(service.reasonName(of: reason.code) == reason.name)
  }

  @Test func unknownCodeHasNoTextAndIsAnotherReason() {
    #expect(service.reasonText(of: ReasonCode(rawValue: 254)) == [])
    #expect(Reason(ReasonCode(rawValue: 254)) == .other)
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
    let type = try #require(PushType(rawValue: type))
    let campaign = Campaign(
      id: "a", app: "news", audience: .users(["x"]), payload: Array(payload.utf8), pushType: type)
    #expect(service.tokenKind(for: campaign) == kind)
  }

  @Test func tokensAreBounded() {
    #expect(DeviceToken(bytes: []) == nil)
    #expect(DeviceToken(bytes: Array(repeating: 1, count: 2048)) != nil)
    #expect(DeviceToken(bytes: Array(repeating: 1, count: 2049)) == nil)
  }
}
