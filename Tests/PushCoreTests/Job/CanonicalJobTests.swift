import TestKit
import TestSupport
import Testing

@testable import PushCore

/// The canonical form of jobs, which decides whether two jobs are the same.
struct CanonicalJobTests {
  private func canonical(_ job: String) throws -> String {
    String(decoding: try CampaignJob.canonical(Array(job.utf8)), as: UTF8.self)
  }

  @Test(arguments: [
    (#"{ "b" : 1, "a" : [ 2, 1 ] }"#, #"{"a":[2,1],"b":1}"#),
    (
      #"{"apns":{"payload":{"z":{"b":1,"a":2},"é":"","a":""}}}"#,
      #"{"apns":{"payload":{"a":"","z":{"a":2,"b":1},"é":""}}}"#
    ),
    (#"{"a":"\u0041\/\n\u000a\u001f"}"#, #"{"a":"A/\n\n\u001f"}"#),
    // A null field counts as missing, but a null in the payload is sent.
    (
      #"{"lane":null,"audience":{"segment":"*","users":null},"apns":{"payload":{"x":null}}}"#,
      #"{"apns":{"payload":{"x":null}},"audience":{"segment":"*"}}"#
    ),
    (
      #"{"audience":{"exclude":{"campaign":null,"segment":"a"},"segment":"*"}}"#,
      #"{"audience":{"exclude":{"segment":"a"},"segment":"*"}}"#
    ),
    (
      #"{"quietHours":{"to":"8:00","then":null},"localTime":{"attribute":null}}"#,
      #"{"localTime":{},"quietHours":{"to":"8:00"}}"#
    ),
    (
      #"{"stages":[{"winner":{"otherwise":null},"wait":null,"share":0.5}],"variants":[{"weight":null,"name":"a"},7]}"#,
      #"{"stages":[{"share":5e-1,"winner":{}}],"variants":[{"name":"a"},7]}"#
    ),
    // The job is the same for every submitter.
    (#"{"submittedBy":"ada","id":"a"}"#, #"{"id":"a"}"#), (#"{"audience":null}"#, "{}"),
    (#"[null,true]"#, "[null,true]"),
  ])
  func jobIsWrittenInOneWay(job: String, expected: String) throws {
    expect(try canonical(job), is: expected)
    expect(try canonical(expected), is: expected)
  }

  @Test(arguments: [
    ["0", "-0", "0.0", "0e5", "-0.00E-7"], ["10", "1e1", "1E+1", "10.0", "0.1e2", "100e-1"],
    ["-1.5", "-15e-1", "-1.50"],
    ["9007199254740993", "9007199254740993.0"], ["9007199254740992"], ["0.1"], ["0.10000000000000001"], ["1e400"],
    ["-1"], ["1"], ["1e9223372036854775807"], ["10e9223372036854775807"], ["1e99999999999999999999"],
  ])
  func numbersAreComparedByValueNotAsDoubles(spellings: [String]) throws {
    let forms = try Set(spellings.map(canonical))
    expect(forms.count, is: 1, "\(forms)")
    expect(try forms.allSatisfy { try canonical($0) == $0 })
  }

  @Test func differentValuesStayDifferent() throws {
    let texts = [
      #"{"a":1}"#, #"{"a":"1"}"#, #"{"a":10}"#, #"{"a":0.1}"#, #"{"a":-1}"#, #"{"a":true}"#, #"{"a":[1]}"#, #"{"b":1}"#,
      #"{"a":9007199254740992}"#, #"{"a":9007199254740993}"#, #"{"a":"e\u0301"}"#, #"{"a":"é"}"#, #"{"a":" 1"}"#,
    ]
    expect(try Set(texts.map { Array(try canonical($0).utf8) }).count, is: texts.count)
  }
}

struct JobOutlineTests {
  @Test func outlineHasTheBasicFields() {
    expect(JobOutline(Array(job().utf8)).map { [$0.id, $0.app, $0.lane?.rawValue] }, is: ["c1", "news", "normal"])
    let odd = JobOutline(Array(#"{"id":"x","app":7,"lane":"fast","apns":{"payload":[]}}"#.utf8))
    expect(odd?.id == "x" && odd?.app == nil && odd?.lane == nil)
    for text in ["", "{", "[]", "{}", #"{"id":7}"#, #"{"id":"a b"}"#] { expect(JobOutline(Array(text.utf8)), is: nil) }
  }
}
