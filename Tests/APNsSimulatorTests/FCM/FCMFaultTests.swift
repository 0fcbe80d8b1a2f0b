import APNsSimulator
import Foundation
import TestKit
import TestSupport
import Testing

/// Quotas, faults and the delivery log of FCM in the simulator (reference 7, 8 and 10).
@Suite(.timeLimit(.minutes(6))) struct FCMFaultTests {
  /// Runs `body` with a connection and an access token.
  private func run(
    _ change: (inout FCMKnobs) -> Void = { _ in }, log: String? = nil,
    _ body: (FCMScene, PushClient, String) async throws -> Void
  ) async throws {
    try await FCMScene.run(change, log: log) { (scene) async throws in
      let access = try await scene.accessToken()
      try await scene.withClient { (client) async throws in
        try await client.connect()
        try await body(scene, client, access)
      }
    }
  }

  @Test func projectQuotaCountsClientErrorsAndNamesItsLimit() async throws {
    try await run {
      $0.messagesPerMinute = 4
      $0.quotaRetryAfterSeconds = 17
    } _: { (scene, client, access) async throws in
      scene.simulator.load([.init("gone", state: .unregistered)])
      let good = scene.request(access: access)
      let gone = scene.request(#"{"message":{"token":"gone"}}"#, access: access)
      let bad = scene.request("{", access: access)
      let responses = try await client.send([good, gone, bad, good, good, bad])
      expect(responses.map(\.status), is: [200, 404, 400, 200, 429, 400])
      let body = try JSONObject(responses[4].body).object("error")
      expect(body?.text("status"), is: "RESOURCE_EXHAUSTED")
      expect(responses[4].body.contains(#""quota_limit_value": "4""#))
      expect(!responses[4].body.contains("FcmError"))
      expect(responses[4].headers["retry-after"], is: "17")
    }
  }

  @Test func deviceQuotaNamesTheDevice() async throws {
    try await run {
      $0.deviceMessagesPerMinute = 2
    } _: { (scene, client, access) async throws in
      let responses = try await client.send(Array(repeating: scene.request(access: access), count: 3))
      expect(responses.map(\.status), is: [200, 200, 429])
      expect(responses[2].body.contains("QUOTA_EXCEEDED") && responses[2].body.contains("QuotaFailure"))
      let other = scene.request(#"{"message":{"token":"other"}}"#, access: access)
      expect(try await client.send([other])[0].status, is: 200)
    }
  }

  @Test func uninstalledAppIsFoundAfterOneMoreMessage() async throws {
    try await run { (scene, client, access) async throws in
      scene.simulator.load([.init("gone", state: .uninstalled)])
      let dry = scene.request(#"{"message":{"token":"gone"},"validate_only":true}"#, access: access)
      let send = scene.request(#"{"message":{"token":"gone"}}"#, access: access)
      expect(try await client.send([dry, dry, send, send, dry]).map(\.status), is: [200, 200, 200, 404, 404])
    }
  }

  @Test func deliveryLogFindsDuplicatesByDataKeyOrTag() async throws {
    try await run {
      $0.duplicateKey = "push"
    } _: { (scene, client, access) async throws in
      let bodies = [
        #""data":{"push":"1"}"#, #""data":{"push":"1"}"#, #""android":{"data":{"push":"2"}}"#,
        #""android":{"notification":{"tag":"t"}}"#, #""android":{"notification":{"tag":"t"}}"#,
      ]
      let requests = bodies.map { scene.request(#"{"message":{"token":"a:b",\#($0)}}"#, access: access) }
      expect(try await client.send(requests).allSatisfy { $0.status == 200 })
      let log = try await scene.control("GET", "/fcm/deliveries?token=a%3Ab")
      expect(log.body, is: #"{"accepted":5,"delayed":0,"duplicates":2}"# + "\n")
      expect(await scene.simulator.counters().fcm.duplicates, is: 2)
      // The burst of collapsible messages is 20. Data without a key is not collapsible.
      let shown = scene.request(#"{"message":{"token":"a:b","notification":{"title":"x"}}}"#, access: access)
      expect(try await client.send(Array(repeating: shown, count: 20)).allSatisfy { $0.status == 200 })
      expect(await scene.simulator.counters().fcm.delayed, is: 2)
    }
  }

  @Test func everyKindOfFailureHasItsAnswer() async throws {
    let expected: [FCMKnobs.Failure.Kind: (Int, String)] = [
      .unregistered: (404, "UNREGISTERED"), .malformedToken: (400, "message.token"),
      .invalidArgument: (400, "Request contains an invalid argument."), .senderMismatch: (403, "SENDER_ID_MISMATCH"),
      .thirdPartyAuth: (401, "THIRD_PARTY_AUTH_ERROR"), .permissionDenied: (403, "IAM_PERMISSION_DENIED"),
      .accessTokenExpired: (401, "ACCESS_TOKEN_EXPIRED"), .accessTokenInvalid: (401, "invalid authentication"),
      .projectQuota: (429, "RATE_LIMIT_EXCEEDED"), .deviceQuota: (429, "QUOTA_EXCEEDED"),
      .internal: (500, "Internal error encountered."), .badGateway: (502, "Error 502 (Server Error)!!1"),
      .unavailable: (503, "The service is currently unavailable."), .unlisted: (409, "ABORTED"),
      .unknownProject: (404, "Requested entity was not found."),
    ]
    try await run { (scene, client, access) async throws in
      for kind in FCMKnobs.Failure.Kind.allCases {
        await scene.simulator.change { $0.fcm.failures = [.init(share: 1, kind: kind, retryAfterSeconds: 30)] }
        let response = try await client.send([scene.request(access: access)])[0]
        let (status, text) = try #require(expected[kind])
        expect(response.status == status && response.body.contains(text), "\(kind): \(response.body)")
        expect(response.headers["retry-after"], is: "30")
      }
      let dated =
        #"{"fcm":{"failures":[{"share":1,"kind":"unavailable","retryAfterSeconds":30,"retryAfterIsDate":true}]}}"#
      expect(try await scene.control("PUT", "/knobs", dated).status, is: 200)
      let response = try await client.send([scene.request(access: access)])[0]
      expect(response.headers["retry-after"]?.hasSuffix(" GMT"), is: true)
    }
  }

  @Test func failuresHitTheirShareOfTheirTokens() async throws {
    try await run {
      $0.failures = [
        .init(share: 0.5, kind: .unregistered, tokenPrefix: "a"),
        .init(share: 1, kind: .internal, delivers: true, tokenPrefix: "b"),
      ]
    } _: { (scene, client, access) async throws in
      let requests = ["a1", "a2", "a3", "a4", "b1", "c1"].map {
        scene.request(#"{"message":{"token":"\#($0)"}}"#, access: access)
      }
      expect(try await client.send(requests).map(\.status), is: [200, 404, 200, 404, 500, 200])
      expect(try await scene.control("GET", "/fcm/deliveries?token=b1").body.contains(#""accepted":1"#))
      expect(await scene.simulator.counters().fcm.errors, is: ["UNREGISTERED": 2, "INTERNAL": 1])
    }
  }

  @Test func bodiesTakeEveryForm() async throws {
    try await run { (scene, client, access) async throws in
      scene.simulator.load([.init("gone", state: .unregistered)])
      let gone = scene.request(#"{"message":{"token":"gone"}}"#, access: access)
      func body(_ request: PushClient.Request, _ change: (inout FCMKnobs) -> Void) async throws -> String {
        await scene.simulator.change {
          $0.fcm = FCMKnobs()
          change(&$0.fcm)
        }
        return try await client.send([request])[0].body
      }
      expect(try await body(gone) { $0.usesOldTexts = true }.contains("NotRegistered"))
      expect(try await !body(gone) { $0.omitsDetails = true }.contains("details"))
      expect(try await body(gone) { $0.errorBodyForm = .html }.contains("<title>Error 404"))
      expect(try await body(gone) { $0.errorBodyForm = .empty }.isEmpty)
      expect(try await body(gone) { $0.errorBodyForm = .cut }.hasPrefix("{"))
      expect(try await body(scene.request(access: access)) { $0.acceptedBodyForm = .empty }.isEmpty)
      let reversed = try await body(scene.request(#"{"message":{}}"#, access: access)) { $0.reversesDetails = true }
      let (code, field) = (reversed.range(of: "errorCode"), reversed.range(of: "fieldViolations"))
      expect(try #require(code).lowerBound < #require(field).lowerBound)
      expect(try await body(scene.request(access: access)) { $0.isDisabled = true }.contains("SERVICE_DISABLED"))
    }
  }

  @Test func listOfRegistrationsIsLoadedAndReset() async throws {
    try await run { (scene, client, access) async throws in
      await scene.simulator.change { $0.fcm.unknownTokens = .unregistered }
      let list = """
        token,state,project,package
        a:1
        a:2,unregistered
        {"token":"a:3","project":"elsewhere"}
        a:4,nowhere
        {"fid":"x"}
        """
      let report = try await scene.control("POST", "/fcm/devices", list)
      expect(report.status == 400 && report.body.contains(#""loaded":3,"skipped":2"#), "\(report.body)")
      let requests = ["a:1", "a:2", "a:3", "a:5"].map {
        scene.request(#"{"message":{"token":"\#($0)"}}"#, access: access)
      }
      expect(try await client.send(requests).map(\.status), is: [200, 404, 403, 404])
      expect(await scene.simulator.counters().fcm.devices, is: 3)
      await scene.simulator.reset(devices: true)
      expect(await scene.simulator.counters().fcm, is: FCMCounters())
    }
  }

  @Test func logHasALineForEveryMessage() async throws {
    let folder = try ScratchFolder("fcm-log")
    try await run(log: folder.path("log")) { (scene, client, access) async throws in
      _ = try await client.send([scene.request(access: access), scene.request("{", access: access)])
      let lines = try String(contentsOfFile: folder.path("log"), encoding: .utf8).split(separator: "\n")
      let fields = lines.map { $0.split(separator: " ").suffix(3).map(String.init) }
      expect(fields, is: [[FCMScene.token, "-", "200"], ["-", "-", "400"]])
    }
  }

  @Test func knobsOfFCMAreAGroup() throws {
    var knobs = SimulatorKnobs()
    try knobs.apply(assignment: "fcm.messagesPerMinute=5")
    try knobs.apply(assignment: "fcm.unknownTokens=unregistered")
    try knobs.apply(json: Array(#"{"fcm":{"resetShare":0.5},"refusedShare":0.1}"#.utf8))
    expect((knobs.fcm.messagesPerMinute, knobs.fcm.unknownTokens) == (5, .unregistered))
    expect((knobs.fcm.resetShare, knobs.refusedShare) == (0.5, 0.1))
    for bad in [
      "fcm.nothing=1", "fcm.resetShare=2", "fcm.quotaSeconds=0", "fcm.failures=[{\"share\":1,\"kind\":\"x\"}]",
    ] {
      #expect(throws: SimulatorKnobs.PatchError.self, "\(bad)") { try knobs.apply(assignment: bad) }
    }
  }
}
