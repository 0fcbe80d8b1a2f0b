import Foundation
import TLS
import TestKit
import Testing

@Suite("Signing keys without line breaks")
struct SigningKeyTextTests {
  private let key: ECPrivateKey

  init() throws { key = try ECPrivateKey.generate() }

  @Test("a key is read with lost, escaped or indented lines, and in Base64")
  func restored() throws {
    let pem = key.pem
    let lines = pem.split(separator: "\n")
    let alone = lines.dropFirst().dropLast().joined()
    let base64 = { (text: String) in Data(text.utf8).base64EncodedString() }
    // Without the type annotation, the compiler needs seven seconds for this dictionary.
    let forms: [String: String] = [
      "as it is": pem, "byte order mark": "\u{FEFF}" + pem, "Windows": pem.replacing("\n", with: "\r\n"),
      "written out": pem.replacing("\n", with: #"\n"#), "written out for Windows": pem.replacing("\n", with: #"\r\n"#),
      "one line": lines.joined(separator: " "), "one line without blanks": lines.joined(),
      "indented": lines.map { "    " + $0 }.joined(separator: "\n"),
      "quoted": "\"" + pem.replacing("\n", with: #"\n"#) + "\"\n",
      "Base64 once more": base64(pem),
      "Base64 in lines": base64(pem).enumerated().map { $0.offset % 76 == 75 ? "\($0.element)\n" : "\($0.element)" }
        .joined(),
      "Base64 alone in quotes": "\"\(alone)\"",
      "Base64 alone behind a byte order mark": "\u{FEFF}\(alone)",
      "Base64 alone": lines.dropFirst().dropLast().joined(separator: "\n"),
    ]
    for (name, text) in forms {
      expect(try ECPrivateKey(pem: Array(text.utf8)).publicPEM, is: key.publicPEM, "\(name)")
    }
  }

  @Test("the error for an incomplete key names the missing part")
  func damaged() {
    let pem = key.pem
    for (text, says) in [
      (String(pem.prefix(120)), "it is cut off: its line -----END PRIVATE KEY----- is missing"),
      (pem.replacing("-----BEGIN PRIVATE KEY-----", with: ""), "its line -----BEGIN PRIVATE KEY----- is missing"),
      (pem.replacing("M", with: "*"), "is not Base64"),
    ] {
      let error = #expect(throws: SigningKeyError.self) { try ECPrivateKey(pem: Array(text.utf8), file: "k.p8") }
      expect(error?.description.contains(says), is: true, "\(error?.description ?? "")")
      expect(
        error?.description.contains(pem.split(separator: "\n")[1].prefix(20)), is: false, "no part of the key is shown")
    }
  }
}
