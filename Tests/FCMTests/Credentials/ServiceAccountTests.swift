import Foundation
import TLS
import TestKit
import TestSupport
import Testing

@testable import FCM

@Suite struct ServiceAccountTests {
  @Test func fieldsOfAKeyFileAreRead() throws {
    let account = try ServiceAccount(json: AccountKit.json())
    expect(account.projectID, is: "demo-project")
    expect(account.clientEmail, is: "push@demo-project.iam.gserviceaccount.com")
    expect(account.keyID, is: "0123456789abcdef")
    expect(account.tokenURI, is: "https://oauth2.googleapis.com/token")
    expect(account.key.publicPEM, is: AccountKit.key.publicPEM)
    let short = try ServiceAccount(json: AccountKit.json(["token_uri": nil, "universe_domain": nil]))
    expect(short, is: account)
  }

  @Test func keyIsReadWithLineBreaksEscapedTwice() throws {
    let pem = AccountKit.key.pem
    let forms = [
      pem.replacing("\n", with: #"\n"#), pem.replacing("\n", with: #"\r\n"#), pem.replacing("\n", with: " "),
      pem.replacing("\n", with: "\r\n"),
    ]
    for form in forms {
      let account = try ServiceAccount(json: AccountKit.json(["private_key": form]))
      expect(account.key.publicPEM, is: AccountKit.key.publicPEM, "\(form.prefix(60))")
    }
  }

  /// A secret store or a variable may add a second Base64 encoding, with line breaks or without padding.
  @Test func keyFileWithASecondBase64EncodingIsRead() throws {
    let text = Data(AccountKit.json()).base64EncodedString()
    let lines = Data(AccountKit.json()).base64EncodedString(options: .lineLength76Characters)
    for form in [text, lines, text + "\n", String(text.prefix { $0 != "=" })] {
      expect(try ServiceAccount(json: Array(form.utf8)).projectID, is: "demo-project")
    }
    // The decoded text must be a key file too.
    let other = Data("{\"project_info\":{}}".utf8).base64EncodedString()
    let error = #expect(throws: ServiceAccountError.self) { try ServiceAccount(json: Array(other.utf8)) }
    expect(error?.description.contains("google-services.json"), is: true)
  }

  /// Each row: the fault, and parts of the error message.
  @Test func errorsNameTheFieldAndTheRemedy() throws {
    let ec = try ECPrivateKey.generate().pem
    let pem = AccountKit.key.pem
    let rows: [(String, [UInt8], [String])] = [
      ("a person's login", AccountKit.json(["type": "authorized_user"]), ["'authorized_user'", "service account"]),
      ("federation", AccountKit.json(["type": "external_account"]), ["'external_account'", "metadata server"]),
      ("another type", AccountKit.json(["type": "gdch"]), ["type is 'gdch'", "unchanged JSON file"]),
      ("no type", AccountKit.json(["type": nil]), ["the field type is missing", "Firebase console"]),
      ("an app's file", Array(#"{"project_info":{},"client":[]}"#.utf8), ["google-services.json", "Firebase console"]),
      ("an OAuth client", Array(#"{"installed":{}}"#.utf8), ["'OAuth client'", "Firebase console"]),
      ("no project", AccountKit.json(["project_id": nil]), ["project_id is missing", "Firebase console"]),
      ("no email", AccountKit.json(["client_email": ""]), ["client_email is missing or empty", "Firebase console"]),
      ("no key id", AccountKit.json(["private_key_id": nil]), ["private_key_id is missing", "Firebase console"]),
      ("no key", AccountKit.json(["private_key": nil]), ["private_key is missing", "Firebase console"]),
      ("a project with a slash", AccountKit.json(["project_id": "a/b"]), ["project_id is 'a/b'", "Firebase console"]),
      ("another cloud", AccountKit.json(["universe_domain": "example.com"]), ["'example.com'", "Google Cloud"]),
      ("an EC key", AccountKit.json(["private_key": ec]), ["private_key: not an RSA key", "unchanged JSON file"]),
      ("half a key", AccountKit.json(["private_key": String(pem.prefix(400))]), ["cut off", "as a whole"]),
      ("no PEM", AccountKit.json(["private_key": "secret"]), ["no private key in PEM", "as a whole"]),
      ("a port of its own", AccountKit.json(["token_uri": "http://oauth2.example.com/t"]), ["token_uri", "https://"]),
      ("a number", Array(#"{"type":"service_account","project_id":7}"#.utf8), ["project_id has a number"]),
      ("a list", Array("[]".utf8), ["an array instead of a JSON object", "Firebase console"]),
      ("no JSON", Array("{".utf8), ["not JSON: error in line 1", "download the key again"]),
      ("nothing", [], ["not JSON", "download the key again"]),
      ("the key alone", Array(pem.utf8), ["only a private key in PEM", "Firebase console"]),
      (
        "real line breaks",
        Array(String(decoding: AccountKit.json(), as: UTF8.self).replacing(#"\n"#, with: "\n").utf8),
        ["real line breaks", #"\n"#]
      ),
    ]
    let secret = pem.split(separator: "\n")[1].prefix(16)
    for (name, json, texts) in rows {
      let error = #expect(throws: ServiceAccountError.self, "\(name)") {
        try ServiceAccount(json: json, file: "sa.json")
      }
      let text = error?.description ?? ""
      expect(text.hasPrefix("sa.json: "), "\(name): \(text)")
      for part in texts { expect(text.contains(part), "\(name): \(text)") }
      expect(!text.contains(secret), "\(name) shows the key")
      expect(!text.contains("secret"), "\(name) shows the key")
    }
  }

  @Test func fileThatAllUsersCanReadIsRefused() throws {
    let folder = try ScratchFolder()
    let path = try folder.writeSecret("sa.json", String(decoding: AccountKit.json(), as: UTF8.self))
    expect(try ServiceAccount(contentsOf: path).projectID, is: "demo-project")
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    let error = #expect(throws: ServiceAccountError.self) { try ServiceAccount(contentsOf: path) }
    expect(error?.description.contains("every user of this machine can read it (mode 0644); run: chmod 600"), is: true)
    let missing = #expect(throws: ServiceAccountError.self) { try ServiceAccount(contentsOf: folder.path("none")) }
    expect(missing?.description.contains("No such file or directory; check the path"), is: true)
  }

  @Test(arguments: [
    ("https://oauth2.googleapis.com/token", "https://oauth2.googleapis.com", "/token"),
    ("https://mesh.example:8443/a/b?c=d", "https://mesh.example:8443", "/a/b?c=d"),
    ("https://mesh.example", "https://mesh.example", "/"), ("https://mesh.example?a", "https://mesh.example", "/?a"),
    ("http://127.0.0.1:80/token", "http://127.0.0.1:80", "/token"),
  ])
  func tokenURIIsSplit(url: String, origin: String, path: String) {
    let endpoint = TokenEndpoint(url)
    expect(endpoint?.origin, is: origin)
    expect(endpoint?.path, is: path)
  }

  @Test(arguments: [
    "", "oauth2.googleapis.com/token", "http://oauth2.googleapis.com/token", "ftp://x/", "https:///token",
    "https://user:word@x/token", "https://x/to ken", "https://x/a#b", "http://127.0.0.1.example/token",
    "http://localhostess/token", "https://x/\r\nhost: y",
  ])
  func otherTokenURIsAreRefused(url: String) { expect(TokenEndpoint(url), is: nil) }
}
