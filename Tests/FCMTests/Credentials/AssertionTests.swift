import PushCore
import TLS
import TestKit
import TestSupport
import Testing

@testable import FCM

@Suite struct AssertionTests {
  @Test func headerAndClaimsAreExactlyThoseOfTheReference() throws {
    let account = try AccountKit.account(port: 4000)
    let jwt = try Assertion.jwt(of: account, at: 1_800_000_030)
    let parts = try #require(AccountKit.parts(of: jwt))
    expect(parts.header, is: #"{"alg":"RS256","typ":"JWT","kid":"0123456789abcdef"}"#)
    expect(
      parts.claims,
      is: #"{"iss":"push@demo-project.iam.gserviceaccount.com","#
        + #""scope":"https://www.googleapis.com/auth/firebase.messaging","#
        + #""aud":"http://127.0.0.1:4000/token","iat":1800000000,"exp":1800003600}"#)
    expect(try RSAPublicKey(pem: AccountKit.key.publicPEM).verify(signature: parts.signature, of: parts.signed))
    expect(!jwt.contains("=") && !jwt.contains("+") && !jwt.contains("/"))
  }

  @Test func textOfTheFileCannotBreakTheJSON() throws {
    let account = try ServiceAccount(json: AccountKit.json(["client_email": #"a"b\c@d"#, "private_key_id": "k\"\n"]))
    let parts = try #require(AccountKit.parts(of: Assertion.jwt(of: account, at: 1_800_000_000)))
    let claims = try JSONValue(parsing: Array(parts.claims.utf8), maximumDepth: 2)
    guard case .object(let members) = claims.kind, case .string(let issuer)? = members.value("iss")?.kind else {
      Issue.record("the claims are not an object with iss")
      return
    }
    expect(issuer, is: #"a"b\c@d"#)
    #expect(throws: Never.self) { try JSONValue(parsing: Array(parts.header.utf8), maximumDepth: 2) }
  }
}
