import Admin
import TestKit
import Testing

struct AccessTokensTests {
  @Test func tokenIsKnownByItsHashAndGoodForItsScopes() throws {
    let (one, two) = (AccessTokens.make(), AccessTokens.make())
    expect(one != two && one.hasPrefix("carillon_") && one.count == 73)
    let file =
      "# tokens\n\n" + AccessTokens.line(name: "backend", scopes: [.submit], token: one)
      + AccessTokens.line(name: "on-call", scopes: [.view, .operate], token: two)
    expect(!file.contains(one) && !file.contains(two))
    let tokens = try AccessTokens(parsing: file)
    let holder = try #require(tokens.holder(of: one))
    expect(holder.name == "backend" && holder.may(.submit) && !holder.may(.view) && !holder.may(.admin))
    expect(tokens.holder(of: two)?.scopes, is: [.view, .operate])
    for wrong in ["", one + "x", String(one.dropLast()), one.uppercased(), "backend"] {
      expect(tokens.holder(of: wrong), is: nil)
    }
    expect(AccessTokens.Holder(name: "a", scopes: [.admin]).may(.operate))
  }

  @Test(arguments: [
    ("a view", "line 1: does not have the form: name scope[,scope] sha256-hex"),
    ("\na vew \(String(repeating: "0", count: 64))", "line 2: unknown scope 'vew'"),
    ("a view 00", "line 1: the third word is not a SHA-256 digest in hex"),
    ("a view \(String(repeating: "g", count: 64))", "line 1: the third word is not a SHA-256 digest in hex"),
    ("ä view \(String(repeating: "0", count: 64))", "line 1: the name must be"),
    (
      "a view \(String(repeating: "0", count: 64))\na admin \(String(repeating: "1", count: 64))",
      "line 2: two tokens have the name a"
    ),
  ])
  func wrongLineIsNamed(text: String, message: String) {
    let error = #expect(throws: AccessTokens.FileError.self) { try AccessTokens(parsing: text) }
    expect(error?.description.hasPrefix(message), is: true, "\(error?.description ?? "")")
  }
}
