import Foundation
import TLS
import TestKit
import TestSupport
import Testing

@Suite("Signing keys")
struct ECPrivateKeyTests {
  @Test("a signature is 64 raw bytes that the public key verifies")
  func signs() throws {
    let key = try ECPrivateKey.generate()
    let message = Array("header.claims".utf8)
    // Short numbers are rare. This many signatures make it practically certain that r and s need padding at least once.
    for _ in 0..<600 {
      let signature = try key.sign(message)
      expect(signature.count, is: ECPrivateKey.signatureLength)
      expect(try ECPublicKey(pem: key.publicPEM).verify(rawSignature: signature, of: message))
    }
  }

  @Test("a key written as PEM is read again")
  func roundTrip() throws {
    let key = try ECPrivateKey.generate()
    let again = try ECPrivateKey(pem: Array(key.pem.utf8))
    expect(again.publicPEM, is: key.publicPEM)
    expect(key.pem.hasPrefix("-----BEGIN PRIVATE KEY-----"))
  }

  @Test("the error for a missing file names its path")
  func missingFile() {
    #expect(throws: SigningKeyError(file: "no/such.p8", problem: .file(.unreadable("No such file or directory")))) {
      try ECPrivateKey(contentsOf: "no/such.p8")
    }
  }

  @Test("a key file that all users can read is refused with a hint; one that the group can read is accepted")
  func exposedFile() throws {
    let folder = try ScratchFolder()
    let key = try ECPrivateKey.generate()
    let path = try folder.write("k.p8", key.pem)
    for mode in [0o644, 0o604, 0o666, 0o444] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      let error = #expect(throws: SigningKeyError.self) { try ECPrivateKey(contentsOf: path) }
      expect(error?.problem, is: .file(.exposed(mode: UInt32(mode))))
      expect(error?.description.contains("chmod 600 \(path)"), is: true)
    }
    for mode in [0o600, 0o400, 0o440] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      expect(try ECPrivateKey(contentsOf: path).publicPEM, is: key.publicPEM)
    }
  }

  @Test("text that is not a key is refused")
  func notAKey() {
    for text in ["", "hello", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
      #expect(throws: SigningKeyError(file: "k.p8", problem: .notAKey)) {
        try ECPrivateKey(pem: Array(text.utf8), file: "k.p8")
      }
    }
  }

  @Test("an encrypted key is refused without asking for a passphrase")
  func encrypted() {
    let pem = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIHsMFcGCSqGSIb3DQEFDTBK\n-----END ENCRYPTED PRIVATE KEY-----\n"
    #expect(throws: SigningKeyError(file: "k.p8", problem: .encrypted)) {
      try ECPrivateKey(pem: Array(pem.utf8), file: "k.p8")
    }
  }

  @Test("the error for a key of another curve or type names the curve or type")
  func wrongKinds() {
    #expect(throws: SigningKeyError(file: "k.p8", problem: .wrongKind("secp384r1"))) {
      try ECPrivateKey(pem: Array(Self.p384.utf8), file: "k.p8")
    }
    #expect(throws: SigningKeyError(file: "k.p8", problem: .wrongKind(nil))) {
      try ECPrivateKey(pem: Array(Self.ed25519.utf8), file: "k.p8")
    }
  }

  /// Key generated for this test.
  private static let p384 = """
    -----BEGIN PRIVATE KEY-----
    MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDA5MJW37L5cbmRwUISk
    qikxwXNs5chXpvjmFe5UaU+b9mOLBcjcoP4MOO0GlDVVebqhZANiAARd/fbvZSQI
    BDHgcNt21mOqV/ENVOMjeV4LgTY+8mw07/dXjAxZQvuDPq5XYvKAhrozUA9wFjLv
    1aoHlrvWsiN8B21eSOfMf7skr8OMJJFCM8ztd5CsewjwD8DE6uyEyoM=
    -----END PRIVATE KEY-----
    """

  /// Key generated for this test.
  private static let ed25519 = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIAmyNFe6cE43aVf/TYaO4QQKp0MeDoOmaUVL1ttwWpJ1
    -----END PRIVATE KEY-----
    """
}

@Suite("Digests")
struct DigestTests {
  @Test("the vectors of FIPS 180")
  func vectors() {
    let abc = Array("abc".utf8)
    expect(hex(Digest(.sha1).hash(abc)), is: "a9993e364706816aba3e25717850c26c9cd0d89d")
    expect(
      hex(Digest(.sha256).hash(abc)), is: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    expect(
      hex(Digest(.sha256).hash([])), is: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  }

  @Test("a digest can be used again after it has returned its result")
  func reuse() {
    let digest = Digest(.sha1)
    _ = digest.hash(Array("something else".utf8))
    expect(hex(digest.hash(Array("abc".utf8))), is: "a9993e364706816aba3e25717850c26c9cd0d89d")
  }

  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
