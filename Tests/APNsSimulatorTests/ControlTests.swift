import APNsSimulator
import Foundation
import TestKit
import Testing

@Suite struct ControlTests {
  private func counters(_ response: PushClient.Response) throws -> SimulatorCounters {
    try JSONDecoder().decode(SimulatorCounters.self, from: Data(response.body.utf8))
  }

  @Test func healthAnswers() async throws {
    try await Scene.run { (scene) async throws in
      let response = try await scene.control("GET", "/health")
      expect(response.status, is: 200)
      expect(response.body, is: "{\"status\":\"ok\"}\n")
    }
  }

  @Test func devicesComeAsCSVAndNDJSON() async throws {
    try await Scene.run {
      $0.knobs.unknownTokens = .bad
    } _: { (scene) async throws in
      let list = """
        token,state,topic,timestamp
        aa01,registered,com.example.app,
        aa02,unregistered,,1700000000123\r
        aa03
        {"token":"aa04","state":"wrongTopic"}
        { "token" : "aa05", "state" : "expired", "topic" : null, "timestamp" : 42 }

        {}
        """
      let response = try await scene.control("POST", "/devices", list)
      expect(response.status, is: 400)
      expect(
        response.body, is: #"{"errors":[{"line":8,"message":"no token"}],"loaded":5,"skipped":1}"# + "\n")
      expect(try counters(try await scene.control("GET", "/counters")).devices, is: 5)
      let expected = [
        ("aa01", ""), ("aa02", #"{"reason":"Unregistered","timestamp":1700000000123}"#), ("aa03", ""),
        ("aa04", #"{"reason":"DeviceTokenNotForTopic"}"#), ("aa05", #"{"reason":"ExpiredToken","timestamp":42}"#),
        ("aa06", #"{"reason":"BadDeviceToken"}"#),
      ]
      for (token, body) in expected { expect(try await scene.push(try scene.request(token)).body, is: body) }
    }
  }

  @Test func longListsAreTakenInAsTheyCome() async throws {
    try await Scene.run { (scene) async throws in
      let list = (0..<50_000).map { "\(String($0 + 0x1000_0000, radix: 16)),unregistered,com.example.app,\($0)\n" }
      let response = try await scene.control("POST", "/devices", list.joined())
      expect(response.body, is: #"{"errors":[],"loaded":50000,"skipped":0}"# + "\n")
      let last = try await scene.push(try scene.request(String(49_999 + 0x1000_0000, radix: 16)))
      expect(last.body, is: #"{"reason":"Unregistered","timestamp":49999}"#)
    }
  }

  @Test func badLinesAreReportedAndOthersLoaded() async throws {
    try await Scene.run { (scene) async throws in
      let list = "xyz\naa,nowhere\naa,registered,,soon\n{\"token\":1\n\(String(repeating: "a", count: 5000))\nbb\n"
      let response = try await scene.control("POST", "/devices", list)
      expect(response.status, is: 400)
      expect(response.body.contains(#""loaded":1,"skipped":5"#))
      for line in 1...5 { expect(response.body.contains(#""line":\#(line),"#)) }
    }
  }

  @Test func knobsChangeOneByOne() async throws {
    try await Scene.run { (scene) async throws in
      let response = try await scene.control(
        "PUT", "/knobs",
        #"{"unknownTokens":"bad","failures":[{"share":1,"status":500,"reason":"InternalServerError"}]}"#)
      expect(response.status, is: 200)
      let knobs = scene.simulator.knobs
      expect(knobs.unknownTokens, is: .bad)
      expect(knobs.failures, is: [.init(share: 1, status: 500, reason: "InternalServerError")])
      expect(knobs.tracksDuplicates)
      scene.simulator.load([SimulatedDevice(token: [1])])
      expect(try await scene.push(try scene.request("01")).status, is: 500)
    }
  }

  @Test(
    arguments: [
      "", "[]", #"{"latency":1}"#, #"{"latencyMilliseconds":"5"}"#, #"{"latencyMilliseconds":-1}"#,
      #"{"clockSkewSeconds":9223372036854775807}"#,
      #"{"failures":[{"share":2,"status":500,"reason":"x"}]}"#, #"{"goAwayAfterRequests":-1}"#,
      #"{"withheldShare":-0.1}"#, #"{"resetAfterRequests":-1}"#, #"{"streamLimit":-1}"#,
      #"{"tokenFailures":[{"token":"ab","status":200,"reason":"x","times":1}]}"#,
    ])
  func invalidKnobsChangeNothingAndAreExplained(body: String) async throws {
    try await Scene.run { (scene) async throws in
      let before = scene.simulator.knobs
      let response = try await scene.control("PUT", "/knobs", body)
      expect(response.status, is: 400)
      expect(response.body.contains(#""error":"#))
      expect(scene.simulator.knobs, is: before)
    }
  }

  @Test func resetClearsCountersAndByDefaultKeepsDevices() async throws {
    try await Scene.run { (scene) async throws in
      scene.simulator.load([SimulatedDevice(token: [1])])
      _ = try await scene.push(try scene.request("01"))
      var after = try counters(try await scene.control("POST", "/reset"))
      expect((after.received, after.connections, after.devices) == (0, 0, 1))
      after = try counters(try await scene.control("POST", "/reset?devices=true"))
      expect(after.devices, is: 0)
    }
  }

  @Test func unknownPathsAndMethodsAreNamed() async throws {
    try await Scene.run { (scene) async throws in
      expect(try await scene.control("GET", "/nothing").status, is: 404)
      expect(try await scene.control("DELETE", "/counters").status, is: 405)
    }
  }

  @Test func pushesAreNotServedOnTheControlPort() async throws {
    try await Scene.run { (scene) async throws in
      expect(try await scene.control("POST", "/3/device/ab", "{}").status, is: 404)
    }
  }
}
