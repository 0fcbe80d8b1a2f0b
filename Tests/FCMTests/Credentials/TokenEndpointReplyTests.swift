import PushCore
import PushTransport
import TestKit
import Testing

@testable import FCM

@Suite struct TokenEndpointReplyTests {
  private enum Meaning: Equatable { case token(String, Int), later, wrongTime(Int64), refused }

  private static let reply = TokenEndpointReply(endpoint: "https://e", account: "push@x")
  /// 784,111,777 UNIX seconds.
  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let time: Int64 = 784_111_777

  private static func read(
    _ status: UInt16, _ body: String, time: Int64 = time, date: String? = date
  ) -> (Meaning, String) {
    let response = HTTPExchange.Response(
      status: status, headers: date.map { [.init("date", $0)] } ?? [], body: Array(body.utf8))
    switch reply.read(response, time: time) {
    case .token(let text, let lifetime): return (.token(text, lifetime), "")
    case .later(let text): return (.later, text)
    case .wrongTime(let ahead, let text): return (.wrongTime(ahead), text)
    case .refused(let text): return (.refused, text)
    }
  }

  @Test func lifetimeIsANumberOrAString() {
    for (life, milliseconds) in [
      ("3599", 3_599_000), (#""3599""#, 3_599_000), ("3599.5", 3_599_500), ("1e3", 1_000_000), ("999999", 43_200_000),
    ] {
      let body = #"{"access_token":"ya29.x","expires_in":\#(life),"token_type":"Bearer","more":[1]}"#
      expect(Self.read(200, body).0, is: .token("ya29.x", milliseconds), "\(life)")
    }
    expect(Self.read(200, #"{"access_token":"a","expires_in":1,"token_type":"bearer"}"#).0, is: .token("a", 1000))
    expect(Self.read(200, #"{"access_token":"a","expires_in":1}"#).0, is: .token("a", 1000))
  }

  @Test(arguments: [
    "", "[]", "{}", "<html>", #"{"access_token":"a"}"#, #"{"expires_in":3599}"#, #"{"access_token":"","expires_in":1}"#,
    #"{"access_token":"a","expires_in":0}"#, #"{"access_token":"a","expires_in":-5}"#,
    #"{"access_token":"a","expires_in":"soon"}"#, #"{"access_token":"a","expires_in":"nan"}"#,
    #"{"access_token":"a","expires_in":"inf"}"#, #"{"access_token":"a","expires_in":true}"#,
    #"{"access_token":"a\r\nx: y","expires_in":1}"#, #"{"access_token":"ä","expires_in":1}"#,
    #"{"access_token":7,"expires_in":1}"#, #"{"access_token":"a","expires_in":1,"token_type":"mac"}"#,
    #"{"access_token":"\#(String(repeating: "a", count: 4097))","expires_in":1}"#,
  ])
  func unusableTokenIsADelay(body: String) { expect(Self.read(200, body).0, is: .later) }

  /// Each row: status, body, whether the key is refused, and words of the text.
  @Test(arguments: [
    (500, "", false, "status 500"), (503, #"{"error":"x"}"#, false, "status 503"), (502, "<html>", false, "status 502"),
    (408, #"{"error":"invalid_grant"}"#, false, "status 408"),
    (429, #"{"error":"invalid_grant"}"#, false, "status 429"),
    (400, #"{"error":"internal_failure"}"#, false, "internal_failure"),
    (400, #"{"error":"x","error_description":"temporarily_unavailable"}"#, false, "temporarily_unavailable"),
    (400, #"{"error":"server_error"}"#, false, "server_error"), (302, "", false, "status 302"),
    (403, "<html>forbidden by the proxy</html>", false, "status 403; check token_uri, the proxy and the network"),
    (404, #"{"error":{"code":404}}"#, false, "status 404"),
    (
      400, #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#, true, "the key was deleted; make"
    ),
    (
      400, #"{"error":"invalid_grant","error_description":"Invalid grant: account not found"}"#, true,
      "the service account was deleted or disabled"
    ),
    (400, #"{"error":"invalid_grant","error_description":"Check your iat and exp values"}"#, true, "clock (NTP)"),
    (401, #"{"error":"invalid_client"}"#, true, "check that the service account is enabled"),
    (401, #"{"error":"unauthorized_client"}"#, true, "check that the service account is enabled"),
    (400, #"{"error":"invalid_scope"}"#, true, "firebase.messaging"),
    (400, #"{"error":"unsupported_grant_type"}"#, true, "check token_uri"),
    (400, #"{"error":"access_denied"}"#, true, "access_denied"),
  ])
  func errorsAreDelaysOrRefusals(status: UInt16, body: String, isRefusal: Bool, words: String) {
    let (meaning, text) = Self.read(status, body)
    expect(meaning, is: isRefusal ? .refused : .later, "\(text)")
    expect(text.contains(words), "\(text)")
    expect(text.contains("https://e"))
  }

  @Test(arguments: [(61, 61, "61 s ahead"), (-600, -600, "600 s behind")] as [(Int64, Int64, String)])
  func refusalWithAWrongClockNamesTheClock(difference: Int64, ahead: Int64, words: String) {
    let body = #"{"error":"invalid_grant","error_description":"Invalid JWT"}"#
    let (meaning, text) = Self.read(400, body, time: Self.time + difference)
    expect(meaning, is: .wrongTime(ahead))
    expect(text.contains("this machine's clock is \(words); set it by NTP"), "\(text)")
  }

  @Test func clockIsNotBlamedWithoutProof() {
    let body = #"{"error":"invalid_grant"}"#
    expect(Self.read(400, body, time: Self.time + 60).0, is: .refused)
    expect(Self.read(400, body, time: Self.time + 600, date: nil).0, is: .refused)
    expect(Self.read(400, body, time: Self.time + 600, date: "yesterday").0, is: .refused)
    expect(Self.read(400, #"{"error":"invalid_scope"}"#, time: Self.time + 600).0, is: .refused)
  }

  @Test func textOfTheEndpointCanNotHarmALog() {
    let long = String(repeating: "x", count: 5000)
    let (_, text) = Self.read(400, #"{"error":"e\nf","error_description":"a\u001b[31m eyJhbGciOi.secret \#(long)"}"#)
    expect(!text.contains("\n") && !text.contains("\u{1b}") && !text.contains("secret") && text.count < 500)
  }
}
