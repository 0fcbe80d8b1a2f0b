import PushCore
import TestKit
import Testing

@testable import APNs

@Suite("Bodies of rejections")
struct ResponseBodyTests {
  private func parse(_ text: String) -> ResponseBody {
    Array(text.utf8).withUnsafeBytes { ResponseBody($0) }
  }

  @Test("reason and timestamp are read in any order and layout")
  func documented() {
    for text in [
      #"{"reason":"Unregistered","timestamp":1700000000123}"#,
      #"{"timestamp":1700000000123,"reason":"Unregistered"}"#,
      " { \"reason\" : \"Unregistered\" ,\n\t\"timestamp\" : 1700000000123 }\r\n",
      #"{"extra":null,"more":"a \" quote","reason":"Unregistered","timestamp":1700000000123,"x":true}"#,
    ] {
      let body = parse(text)
      expect(body.reason, is: Reason.unregistered, "\(text)")
      expect(body.timestamp, is: 1_700_000_000_123, "\(text)")
      expect(body.unknownReason, is: nil)
    }
  }

  @Test(
    "what is no JSON object gives no reason",
    arguments: [
      "", " ", "null", "Shutdown", "\"reason\":\"Shutdown\"", "[\"reason\"]", "<html>{\"reason\":\"Shutdown\"}", "{",
      "{}",
      "{\"reason\"", "{\"reason\":", "{\"reason\":\"", "{\"reason\":\"Shutdow", "{\"reason\":17}", "{\"reason\":\"\"}",
      "{\"nested\":{\"reason\":\"Shutdown\"}}", "{\"a\":\"\\", "{\"reason\":null}",
    ])
  func garbage(_ text: String) {
    let body = parse(text)
    expect(body, is: parse(""))
    expect(body.reason, is: Reason.none)
  }

  @Test("a reason is read even if the rest is cut off")
  func cutOff() {
    expect(parse(#"{"reason":"BadDeviceToken","text":"#).reason, is: Reason.badDeviceToken)
  }

  @Test("an unknown reason is kept, at most 64 bytes of printable text")
  func unknown() {
    let body = parse(#"{"reason":"SomethingNew"}"#)
    expect(body.reason, is: .other)
    expect(body.unknownReason, is: "SomethingNew")
    expect(parse("{\"reason\":\"\(String(repeating: "x", count: 500))\"}").unknownReason?.utf8.count, is: 64)
    expect(parse("{\"reason\":\"a\u{1b}[31mé\"}").unknownReason, is: "a?[31m??")
  }

  @Test("a timestamp that is not a number of milliseconds is ignored")
  func timestamps() {
    for value in ["-1", "1.5", "1e9", "99999999999999999999999", "null", "\"1\""] {
      expect(parse("{\"reason\":\"Unregistered\",\"timestamp\":\(value)}").timestamp, is: 0)
    }
  }

  @Test("the parser accepts any bytes without a crash")
  func fuzz() {
    var state: UInt64 = 0x5eed
    let alphabet = Array("{}[]\":,\\ \nreasontimestamp0123456789\0\u{ff}".utf8)
    for _ in 0..<20_000 {
      var bytes: [UInt8] = [UInt8(ascii: "{")]
      for _ in 0..<(Int(state >> 33) % 60) {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        bytes.append(alphabet[Int(state >> 33) % alphabet.count])
      }
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let body = bytes.withUnsafeBytes { ResponseBody($0) }
      expect(body.reason == .other, is: body.unknownReason != nil)
    }
  }
}
