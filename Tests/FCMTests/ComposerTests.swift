import FCM
import PushCore
import PushTransport
import TestKit
import TestSupport
import Testing

struct ComposerTests {
  private static let token = "fK3dQ0bLQ0mB1x2y3z4A5b:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx"
  private static let installation = "cOfs8TqJQ0-B1x2y3z4A5_"
  private static let label = #""fcm_options":{"analytics_label":"spring-sale"}"#
  private static let tag = PushID.collapseID(campaign: "spring-sale")

  private let service = FCMService(project: "demo")

  private func campaign(_ payload: String, _ more: String = "", type: String? = nil) throws -> Campaign {
    let type = type.map { #","pushType":"\#($0)""# } ?? ""
    return try CampaignJob.parse(
      Array(
        #"{"id":"spring-sale","app":"news","audience":{"users":["ada"]},"fcm":{"message":\#(payload)\#(type)}\#(more)}"#
          .utf8),
      .known(["news": [service]]))
  }

  /// Returns the body of a push.
  private func body(
    _ payload: String, _ more: String = "", to token: String = Self.token, expiration: Int? = nil, now: Int = 1000,
    values: [String] = [], type: String? = nil
  ) throws -> String {
    let campaign = try campaign(payload, more, type: type)
    let composer = service.composer(for: campaign, expiration: expiration)
    var batch = composer.batch(isUnproven: false, capacity: 1, now: now)
    // The format of `TargetValues`: the form, then each value with its length.
    let sealed = values.reduce(into: [0, 0] as [UInt8]) { $0 += [0, UInt8($1.utf8.count)] + $1.utf8 }
    let fits = batch.append(Array(token.utf8)[...], TargetValues(sealed[...]), tag: 7, by: composer)
    expect(fits)
    let push = try #require(batch.pushes.first)
    expect(Array(batch.bytes[Int(push.token.lowerBound)..<Int(push.token.upperBound)]), is: Array(token.utf8))
    expect(batch.request.path == "/v1/projects/demo/messages:send" && batch.request.tokenInPath == nil)
    let text = batch.bytes[Int(push.payload.lowerBound)..<Int(push.payload.upperBound)]
    _ = try JSONValue(parsing: Array(text), maximumDepth: 32)
    return String(decoding: text, as: UTF8.self)
  }

  @Test func notificationGetsPriorityTagAndLabel() throws {
    expect(
      try body(#"{"notification": {"title": "Hi"}}"#),
      is: #"{"message":{"token":"\#(Self.token)",\#(Self.label),"android":{"priority":"HIGH","notification":{"tag":""#
        + Self.tag + #""}},"notification":{"title":"Hi"}}}"#)
  }

  @Test func installationIDIsSentAsSuch() throws {
    expect(try body(#"{"notification":{"title":"T"}}"#, to: Self.installation).hasPrefix(#"{"message":{"fid":"cOfs8"#))
  }

  @Test func dataMessageHasNoTag() throws {
    expect(
      try body(#"{"data":{"k":"v"}}"#, #","collapseId":"news""#, type: "background"),
      is: #"{"message":{"token":"\#(Self.token)",\#(Self.label),"#
        + #""android":{"priority":"NORMAL","collapse_key":"news"},"data":{"k":"v"}}}"#)
  }

  @Test func givenMembersStay() throws {
    let payload =
      #"{"android":{"priority":"normal","ttl":"60s","collapseKey":"c","notification":{"tag":"t","body":"B"}},"#
      + #""fcmOptions":{"analyticsLabel":"mine"}}"#
    expect(
      try body(payload, #","collapseId":"other""#, expiration: 2000),
      is: #"{"message":{"token":"\#(Self.token)",\#(payload.dropFirst())}"#)
  }

  @Test func membersAreAddedToGivenObjects() throws {
    expect(
      try body(
        #"{"android":{"notification":{"title":"T"}},"fcm_options":{}}"#, #","collapseId":"sale""#, expiration: 2000),
      is: #"{"message":{"token":"\#(Self.token)","android":{"priority":"HIGH","collapse_key":"sale","ttl":"1000s","#
        + #""notification":{"tag":"sale","title":"T"}},"fcm_options":{"analytics_label":"spring-sale"}}}"#)
  }

  @Test(
    arguments: [
      (nil, 1000, ""), (0, 1000, #","ttl":"0s""#), (1600, 1000, #","ttl":"600s""#), (1600, 1599, #","ttl":"1s""#),
      (1600, 1700, #","ttl":"0s""#), (9_000_000, 1000, #","ttl":"2419200s""#),
    ] as [(Int?, Int, String)])
  func lifetimeIsWhatIsLeftWhenThePushIsMade(expiration: Int?, now: Int, ttl: String) throws {
    expect(
      try body(#"{"data":{"k":"v"}}"#, expiration: expiration, now: now, type: "background")
        .contains(#"{"priority":"NORMAL"\#(ttl)}"#))
  }

  @Test func secondVersionOfAndroidSettingsGetsNoPriority() throws {
    expect(
      try body(
        #"{"android_v2":{"background_sync":{}}}"#, #","collapseId":"c""#, expiration: 1060, type: "background"
      )
      .hasSuffix(#","android_v2":{"collapse_key":"c","ttl":"60s","background_sync":{}}}}"#))
  }

  @Test func valuesAndIDAreWrittenForEachPush() throws {
    let text = try body(
      #"{"notification":{"title":"Hi {{name|you}}"},"data":{"k":"v"}}"#, #","uniqueKey":"push""#, expiration: 1060,
      values: ["Ada"])
    let id = UUIDText.text(PushID(campaign: "spring-sale").id(token: Array(Self.token.utf8)))
    expect(text.hasSuffix(#""notification":{"title":"Hi Ada"},"data":{"k":"v","push":"\#(id)"}}}"#))
    expect(text.contains(#""ttl":"60s""#))
  }

  @Test(
    arguments: [
      (#"{"notification":{"title":"T"}}"#, #","data":{"push":"ID"}}}"#),
      (#"{"notification":{"title":"T"},"data":{}}"#, #","data":{"push":"ID"}}}"#),
      (#"{"notification":{"title":"T"},"android":{"data":{"c":"d"}}}"#, #","data":{"c":"d","push":"ID"}}}}"#),
      (
        #"{"androidV2":{"remoteNotification":{"notification":{"title":"T"}},"data":{"c":"d"}}}"#,
        #","data":{"c":"d","push":"ID"}}}}"#
      ),
      (
        #"{"android_v2":{"remote_notification":{"notification":{"title":"T"}},"data":{"c":"d"}}}"#,
        #","data":{"c":"d","push":"ID"}}}}"#
      ),
      (
        #"{"androidV2":{"remoteNotification":{"notification":{"title":"T"}}}}"#, #","data":{"push":"ID"}}}"#
      ),
    ])
  func uniqueKeyIsInTheDataThatAndroidGets(payload: String, end: String) throws {
    let id = UUIDText.text(PushID(campaign: "spring-sale").id(token: Array(Self.token.utf8)))
    expect(try body(payload, #","uniqueKey":"push""#).hasSuffix(end.replacing("ID", with: id)))
  }

  @Test func campaignsWithLongIDsHaveDifferentLabels() throws {
    let ids = ["a", "b"].map { String(repeating: "x", count: 63) + $0 }
    let bodies = try ids.map { id in
      var campaign = try campaign(#"{"notification":{"title":"T"}}"#)
      campaign.id = id
      let composer = service.composer(for: campaign, expiration: nil)
      var batch = composer.batch(isUnproven: false, capacity: 1, now: 0)
      _ = batch.append(Array(Self.token.utf8)[...], tag: 0, by: composer)
      return String(decoding: batch.bytes, as: UTF8.self)
    }
    expect(bodies[0] != bodies[1])
    expect(bodies.allSatisfy { $0.contains(#""analytics_label":"xxx"#) })
  }

  @Test func messageAtItsLimitIsSentAndALargerOneIsNot() throws {
    let campaign = try campaign(
      #"{"data":{"k":"{{text}}"},"webpush":{"data":{"x":"not counted"}}}"#, type: "background")
    let composer = service.composer(for: campaign, expiration: 2000)
    for (length, fits) in [(4095, true), (4096, false)] {
      var batch = composer.batch(isUnproven: false, capacity: 1, now: 1000)
      let sealed = [0, 0, UInt8(length >> 8), UInt8(length & 255)] + [UInt8](repeating: 0x78, count: length)
      let added = batch.append(Array(Self.token.utf8)[...], TargetValues(sealed[...]), tag: 0, by: composer)
      expect(added, is: fits)
      expect(batch.pushes.isEmpty != fits && batch.bytes.isEmpty != fits)
    }
  }
}
