import Foundation
import TLS
import TestKit
import TestSupport
import Testing

@Suite struct RSAKeyTests {
  private static let key: RSAPrivateKey = {
    do { return try RSAPrivateKey.generate() } catch { fatalError("\(error)") }
  }()

  @Test func opensslCommandVerifiesASignature() async throws {
    let folder = try ScratchFolder()
    let message = Array("header.claims".utf8)
    let signature = try Self.key.sign(message)
    expect(signature.count, is: 256)
    try Data(message).write(to: folder.url.appending(path: "message"))
    try Data(signature).write(to: folder.url.appending(path: "signature"))
    try folder.write("public.pem", Self.key.publicPEM)
    let output = try await ChildProcess.run(
      "openssl",
      ["dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", "message"], folder: folder.url)
    expect(output.standardOutput.contains("Verified OK"), "\(output)")
  }

  @Test func publicKeyVerifiesOnlyTheSignedMessage() throws {
    let message = Array("header.claims".utf8)
    let signature = try Self.key.sign(message)
    for pem in [Self.key.publicPEM, Self.key.pem] {
      let key = try RSAPublicKey(pem: pem)
      expect(key.verify(signature: signature, of: message))
      expect(!key.verify(signature: signature, of: message + [0]))
      expect(!key.verify(signature: Array(signature.dropLast()), of: message))
      expect(!key.verify(signature: [], of: message))
      var changed = signature
      changed[100] ^= 1
      expect(!key.verify(signature: changed, of: message))
    }
    expect(try Self.key.sign(message), is: signature)
  }

  @Test func keyIsReadWhateverHappenedToItsLineBreaks() throws {
    let pem = Self.key.pem
    for text in [pem, pem.replacing("\n", with: #"\n"#), pem.split(separator: "\n").joined(separator: " ")] {
      expect(try RSAPrivateKey(pem: Array(text.utf8)).publicPEM, is: Self.key.publicPEM)
    }
  }

  @Test func otherKeysAreRefused() throws {
    let ec = try ECPrivateKey.generate()
    #expect(throws: SigningKeyError(file: "k", problem: .notRSA)) {
      try RSAPrivateKey(pem: Array(ec.pem.utf8), file: "k")
    }
    #expect(throws: SigningKeyError(file: "a new key", problem: .tooShort(bits: 1024))) {
      try RSAPrivateKey.generate(bits: 1024)
    }
    #expect(throws: SigningKeyError(file: "k", problem: .notAKey)) {
      try RSAPrivateKey(pem: Array("x".utf8), file: "k")
    }
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIHsMFcG\n-----END ENCRYPTED PRIVATE KEY-----\n"
    #expect(throws: SigningKeyError(file: "k", problem: .encrypted)) {
      try RSAPrivateKey(pem: Array(encrypted.utf8), file: "k")
    }
    #expect(throws: TLSError.self) { try RSAPublicKey(pem: ec.publicPEM) }
    #expect(throws: SigningKeyError(file: "k", problem: .wrongKind(nil))) {
      try ECPrivateKey(pem: Array(Self.key.pem.utf8), file: "k")
    }
  }
}
