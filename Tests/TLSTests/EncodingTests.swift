import Foundation
import TLS
import TestKit
import Testing

struct Base64Tests {
  // RFC 4648 section 10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func vectorsOfTheStandard(plain: String, encoded: String) {
    let bytes = Array(plain.utf8)
    let short = encoded.replacing("=", with: "")
    expect(Base64.encode(bytes) == encoded && Base64.encode(bytes, .url) == short)
    expect(Base64.decode(encoded.utf8), is: bytes)
    expect(Base64.decodeLeniently(encoded.utf8) == bytes && Base64.decodeLeniently(short.utf8) == bytes)
  }

  @Test func alphabetsDifferInTwoLetters() {
    let bytes: [UInt8] = [0xfb, 0xff, 0xbf]
    expect(Base64.encode(bytes) == "+/+/" && Base64.encode(bytes, .url) == "-_-_")
    expect(Base64.decode("+/+/".utf8) == bytes && Base64.decode("-_-_".utf8) == nil)
    expect(Base64.decodeLeniently("+_-/".utf8), is: bytes)
  }

  @Test func everyLengthComesBackAsFoundationHasIt() {
    for count in 0..<100 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 89 &+ count) }
      let text = Data(bytes).base64EncodedString()
      expect(Base64.encode(bytes), is: text)
      expect(Base64.decode(text.utf8) == bytes && Base64.decodeLeniently(Base64.encode(bytes, .url).utf8) == bytes)
    }
  }

  @Test(arguments: [
    "Z", "Zm9vY", "Zg=", "Z===", "====", "Z=g=", "Zg==Zg==", " Zg==", "Zg==\n", "Zm 9", "Zm9v!A==", "é",
  ])
  func invalidTextIsRefused(text: String) {
    expect(Base64.decode(text.utf8), is: nil)
  }

  @Test(arguments: ["Z", "Zm9vY", "Z===", "Z=g=", "Zg=x", " Zg", "Zg\n", "Zm!v", "é"])
  func invalidTextWithoutPaddingIsRefused(text: String) {
    expect(Base64.decodeLeniently(text.utf8), is: nil)
  }
}

struct ASN1Tests {
  @Test func textsOfASequenceAreReadHoweverLong() {
    // SEQUENCE { UTF8String "a", SEQUENCE { UTF8String "app" } }
    let short: [UInt8] = [0x30, 10, 0x0c, 1, 0x61, 0x30, 5, 0x0c, 3, 0x61, 0x70, 0x70]
    expect(ASN1.texts(inSequence: short), is: ["a"])
    let name = [UInt8](repeating: 0x62, count: 200)
    let long: [UInt8] = [0x30, 0x81, 203, 0x0c, 0x81, 200] + name
    expect(ASN1.texts(inSequence: long), is: [String(decoding: name, as: UTF8.self)])
    for end in 0..<short.count { expect(ASN1.texts(inSequence: Array(short[..<end])), is: nil) }
    expect(ASN1.texts(inSequence: short + [0]), is: nil)
    expect(ASN1.texts(inSequence: [0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), is: nil)
    expect(ASN1.texts(inSequence: ASN1.null), is: nil)
  }

  @Test func writtenSequencesAreDER() throws {
    expect(
      try ASN1.der(sequence: [.text("a"), .sequence([.text("app")])]),
      is: [0x30, 10, 0x0c, 1, 0x61, 0x30, 5, 0x0c, 3, 0x61, 0x70, 0x70])
    expect(try ASN1.der(sequence: []), is: [0x30, 0])
    for length in [127, 128, 255, 256, 70_000] {
      let text = String(repeating: "x", count: length)
      expect(
        ASN1.texts(inSequence: try ASN1.der(sequence: [.text(text), .sequence([]), .text("é")])), is: [text, "é"])
    }
  }
}
