import TLS
import TestKit
import Testing

@Suite struct ECPublicKeyTests {
  private let message = Array("header.claims".utf8)

  @Test func rawSignatureIsVerifiedByEitherHalfsPEM() throws {
    let key = try ECPrivateKey.generate()
    let signature = try key.sign(message)
    for pem in [key.pem, key.publicPEM] {
      expect(try ECPublicKey(pem: pem).verify(rawSignature: signature, of: message))
    }
  }

  @Test func anyChangeIsNoticed() throws {
    let key = try ECPrivateKey.generate()
    let publicKey = try ECPublicKey(pem: key.publicPEM)
    var signature = try key.sign(message)
    expect(!publicKey.verify(rawSignature: signature, of: message + [0]))
    expect(!publicKey.verify(rawSignature: Array(signature.dropLast()), of: message))
    signature[20] ^= 1
    expect(!publicKey.verify(rawSignature: signature, of: message))
  }

  @Test func anotherKeysSignatureIsRefused() throws {
    let signature = try ECPrivateKey.generate().sign(message)
    expect(!(try ECPublicKey(pem: ECPrivateKey.generate().publicPEM).verify(rawSignature: signature, of: message)))
  }

  @Test func derIsTakenAsDEROnly() throws {
    let key = try ECPrivateKey.generate()
    let publicKey = try ECPublicKey(pem: key.publicPEM)
    let raw = try key.sign(message)
    let der = Self.der(raw)
    expect(publicKey.verify(derSignature: der, of: message))
    expect(!publicKey.verify(derSignature: raw, of: message))
    expect(!publicKey.verify(rawSignature: der, of: message))
  }

  @Test func invalidKeyTextIsRefused() {
    let broken = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"
    #expect(throws: TLSError.self) { try ECPublicKey(pem: broken) }
    #expect(throws: TLSError.self) { try ECPublicKey(pem: "") }
  }

  /// Converts r‖s to an ECDSA-Sig-Value (RFC 3279 section 2.2.3) without OpenSSL, so that the test is independent of
  /// OpenSSL.
  private static func der(_ raw: [UInt8]) -> [UInt8] {
    func integer(_ half: ArraySlice<UInt8>) -> [UInt8] {
      var digits = Array(half.drop { $0 == 0 })
      if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
      return [0x02, UInt8(digits.count)] + digits
    }
    let body = integer(raw[..<32]) + integer(raw[32...])
    return [0x30, UInt8(body.count)] + body
  }
}
