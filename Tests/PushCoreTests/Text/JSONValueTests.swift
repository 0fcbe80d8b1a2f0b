import PushCore
import TestKit
import Testing

struct JSONValueTests {
  private func parse(_ text: String, depth: Int = 32) throws(JSONSyntaxError) -> JSONValue {
    try JSONValue(parsing: Array(text.utf8), maximumDepth: depth)
  }

  @Test(arguments: [
    (#""plain""#, "plain"), (#""""#, ""), (#""a\"b\\c\/d""#, "a\"b\\c/d"), (#""\b\f\n\r\t""#, "\u{8}\u{C}\n\r\t"),
    (#""\u00e9\u20AC""#, "é€"), (#""\ud83d\udE00!""#, "😀!"), ("\"grüße 😀\"", "grüße 😀"), (#""\u0000""#, "\0"),
  ])
  func decodesStrings(json: String, text: String) throws {
    guard case .string(let decoded) = try parse(json).kind else {
      Issue.record("not a string")
      return
    }
    expect(decoded, is: text)
  }

  @Test(arguments: ["0", "-0", "10", "1.5", "-1e9", "1E+2", "0.1e-3", "12345678901234567890"])
  func keepsNumbersAsWritten(json: String) throws {
    guard case .number(let text) = try parse(" \(json)\n").kind else {
      Issue.record("not a number")
      return
    }
    expect(text, is: json)
  }

  @Test(arguments: [
    ("", 1, 1, "expected a JSON value, found nothing"),
    ("{", 1, 2, "expected a member name in quotes, found the end"),
    (#"{"a":1,}"#, 1, 8, "expected a member name"),
    (#"{"a" 1}"#, 1, 6, "expected ':', found '1'"),
    ("{\n  \"a\": tru\n}", 2, 8, "expected 'true' or another value; put a text in quotes"),
    (#"{"a":1 "b":2}"#, 1, 8, "expected ',' or '}'"),
    ("[1 2]", 1, 4, "expected ',' or ']'"),
    ("[1,]", 1, 4, "expected a JSON value, found ']'"),
    ("01", 1, 2, "expected the end"),
    ("1.", 1, 3, "expected a digit"),
    ("-", 1, 2, "expected a digit"),
    ("+1", 1, 1, "expected a JSON value, found '+'"),
    ("NaN", 1, 1, "expected a JSON value"),
    ("nul", 1, 1, "expected 'null' or another value; put a text in quotes"),
    (#""abc"#, 1, 1, "not closed"),
    (#""abc\"#, 1, 5, "not closed"),
    ("\"a\nb\"", 1, 3, "control character"),
    (#""\x""#, 1, 2, "escape"),
    (#""\u12g4""#, 1, 6, "four hex digits, found 'g'"),
    (#""\ud800""#, 1, 2, "surrogate"),
    (#""\ud800\u0041""#, 1, 2, "surrogate"),
    (#""\udc00\ud800""#, 1, 2, "surrogate"),
    (#"{"a":1,"b":2,"a":3}"#, 1, 14, "'a' appears twice"),
    ("{}\u{FEFF}", 1, 3, "found byte 0xef"),
    ("{} x", 1, 4, "expected the end of the text, found 'x'"),
    ("[[[[[", 1, 4, "nested more than 3 deep"),
    ("{'a':1}", 1, 2, "expected a member name"),
  ])
  func errorNamesLineAndColumn(json: String, line: Int, column: Int, message: String) {
    let error = #expect(throws: JSONSyntaxError.self) { try parse(json, depth: 3) }
    expect(error?.line, is: line)
    expect(error?.column, is: column)
    expect(error?.message.contains(message), is: true, "\(error?.message ?? "")")
  }

  @Test func refusesBytesThatAreNotUTF8() {
    for bytes: [UInt8] in [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80], [0xF5, 0x80, 0x80, 0x80]] {
      #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: [0x22] + bytes + [0x22], maximumDepth: 1) }
      #expect(throws: JSONSyntaxError.self) {
        try JSONValue(parsing: [0x22, 0x5C, 0x6E] + bytes + [0x22], maximumDepth: 1)
      }
    }
  }

  @Test func depthIsBoundedForObjectsAndArraysAlike() throws {
    _ = try parse("[{\"a\":[]}]", depth: 3)
    #expect(throws: JSONSyntaxError.self) { try parse("[{\"a\":[{}]}]", depth: 3) }
    #expect(throws: JSONSyntaxError.self) { try parse(String(repeating: "[", count: 1_000_000)) }
    _ = try parse("[" + Array(repeating: "[]", count: 100).joined(separator: ",") + "]", depth: 2)
  }

  @Test func rangesCoverExactlyTheValue() throws {
    let json = #" { "a" : [ 1 , "x\"" ] , "b" : { } } "#
    guard case .object(let members) = try parse(json).kind else {
      Issue.record("not an object")
      return
    }
    let bytes = Array(json.utf8)
    expect(members.map(\.name), is: ["a", "b"])
    expect(members.map { String(decoding: bytes[$0.value.range], as: UTF8.self) }, is: [#"[ 1 , "x\"" ]"#, "{ }"])
  }

  @Test func minifyingLeavesStringsAndNumbersAlone() {
    let json = "{ \"a b\\\" \\\\\" :\t[ 1.50 , \"x  y\\u0020\" ]\r\n, \"é\" : null }"
    expect(
      String(decoding: JSONValue.minified(Array(json.utf8)[...]), as: UTF8.self),
      is: "{\"a b\\\" \\\\\":[1.50,\"x  y\\u0020\"],\"é\":null}")
  }

  @Test(arguments: [
    (0.0, "0.0"), (-1.5, "-1.5"), (0.1 + 0.2, "0.30000000000000004"), (1e300, "1e+300"), (2.5e-300, "2.5e-300"),
    (Double.infinity, "null"), (.nan, "null"),
  ])
  func numberIsWrittenSoThatItReadsBack(number: Double, text: String) throws {
    var json = JSONWriter()
    json.beginObject()
    json.member("n", number)
    json.endObject()
    expect(json.text, is: "{\"n\":\(text)}")
    guard number.isFinite else { return }
    let value = try parse(String(json.text.dropFirst(5).dropLast()))
    let digits: String? = if case .number(let digits) = value.kind { digits } else { nil }
    expect(digits.flatMap { Double($0) }, is: number)
  }
}
