@testable import CampaignStore
import APNs
import FCM
import Foundation
import PushCore
import Redis
import TestKit
import Testing

/// Formats of the data in Redis, byte for byte. `Formats/` has a sample of every version so far. A change of a format
/// raises its version (`Sources/CampaignStore/Keys.md` names its place) and adds the new sample.
struct FormatTests {
  @Test func deviceRecordIsThatOfItsVersion() throws {
    var bytes: [UInt8] = []
    try Self.device.write(to: &bytes)
    let kinds = TokenKind.allCases.map { "\($0.rawValue) \($0.code)" }
    try expectSample([Self.hex(bytes)] + kinds, "device-record", Int(DeviceRecord.version))
    expect(bytes.withUnsafeBytes(DeviceRecord.all), is: [Self.device])
    expect(TokenKind.allCases.allSatisfy { TokenKind(code: $0.code) == $0 })
  }

  /// Targets and ledger share one version, which covers the codes of outcomes. Codes of reasons have no version.
  @Test func targetsAndLedgerAreThoseOfTheirVersion() throws {
    var target: [UInt8] = []
    ([0xAA, 0xBB] as [UInt8]).withUnsafeBytes { token in
      Array("zoë".utf8).withUnsafeBytes { TargetPage.write(token: token, user: $0, to: &target) }
    }
    var personal: [UInt8] = []
    ([0xAA, 0xBB] as [UInt8]).withUnsafeBytes { token in
      Array("zoë".utf8).withUnsafeBytes { user in
        TargetPage.write(token: token, user: user, to: &personal) { Personal.write(to: &$0) }
      }
    }
    // The bytes that `blank.lua` leaves of the two targets when it erases their user.
    let erased: [[UInt8]] = [[0, 0, 0, 0], [0x80, 0, 0, 0, 0, 2] + personal[12..<14]]
    var chunk = TargetChunk(first: 0, capacity: erased.count)
    erased.flatMap { $0 }.withUnsafeBytes { chunk.append(page: $0) }
    expect(chunk.count == erased.count && chunk.places.indices.allSatisfy(chunk.isErased))
    var record: [UInt8] = []
    LedgerRecord(
      state: .terminal(.rejected), attempt: 3, history: AttemptHistory(counted: 1, isAmbiguous: true), status: 400,
      reason: ReasonCode(rawValue: 5),
      variant: 9, at: 1_796_115_600_007
    ).write(to: &record)
    let outcomes = Outcome.allCases.map { "\($0.name) \($0.rawValue)" }
    let sizes = "\(TargetPage.size) targets a page"
    try expectSample(
      [sizes, Self.hex(target), Self.hex(personal)] + erased.map(Self.hex) + [Self.hex(record)] + outcomes,
      "slice",
      TargetPage.formatVersion)
  }

  /// A changed code would give other names to reasons in ledgers of running campaigns. A new code is added to the
  /// sample.
  @Test(arguments: ["apns", "fcm"])
  func codesOfReasonsAreOnlyAdded(name: String) throws {
    let service: any PushService = name == "fcm" ? FCMService() : APNsService()
    let codes = (0...UInt8.max).map(ReasonCode.init(rawValue:))
    let named = codes.filter { $0 == .payloadTooLarge || !service.reasonText(of: $0).isEmpty }
      .map { "\(service.name) \(service.reasonName(of: $0)) \($0.rawValue)" }
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Formats/reasons-\(name).txt")
    let known = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
    expect(Set(known).subtracting(named).isEmpty, "codes changed: restore them, they stand in ledgers")
    expect(Set(named).subtracting(known).isEmpty, "new codes: add them to \(file.lastPathComponent)")
  }

  /// All keys without a version of their own.
  @Test func storeIsThatOfItsVersion() async throws {
    var scene = try await FormatScene()
    try expectSample(try await scene.play(), "store", CampaignStore.layoutVersion)
  }

  private func expectSample(_ lines: [String], _ name: String, _ version: Int) throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Formats/\(name)-\(version).txt")
    let sample = try #require(
      try? String(contentsOf: file, encoding: .utf8),
      "there is no sample of version \(version); \(file.lastPathComponent) is to be:\n\(lines.joined(separator: "\n"))")
    let known = sample.split(separator: "\n").map(String.init)
    for (line, expected) in zip(lines, known) where line != expected {
      Issue.record("version \(version) of \(name) has changed, raise it: \(line), was \(expected)")
    }
    expect(lines.count, is: known.count, "version \(version) of \(name) has changed, raise it: \(lines)")
  }

  private static func hex(_ bytes: [UInt8]) -> String { String(decoding: Hex.encode(bytes), as: UTF8.self) }

  /// The values of a user who has one of the two values of a campaign with two languages.
  private enum Personal {
    static func write(to bytes: inout [UInt8]) {
      let job = #"""
        {"id":"a","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"a"},"a":"{{x}}{{y}}"}},
        "localized":{"de":{"apns":{"payload":{"a":"{{y}}"}}}}}
        """#
      guard let content = try? CampaignJob.parse(Array(job.utf8), .any([APNsService()])).message.content else {
        Issue.record("the job of the sample is refused")
        return
      }
      var user = PersonalContent.User(content)
      Array(#"{"y":"wée"}"#.utf8).withUnsafeBytes { attributes in
        content.find(&user, values: UnsafeRawBufferPointer(start: nil, count: 0), attributes: attributes)
        Array("de-AT".utf8).withUnsafeBytes { content.writeValues(of: &user, locale: $0, to: &bytes) }
      }
    }
  }

  private static var device: DeviceRecord {
    var device = DeviceRecord(token: [0xAA, 0xBB, 0xCC], service: "apns")
    device.kind = .voip
    device.registeredAt = 1000
    device.lastSeen = 2000
    device.isQuarantined = true
    device.app = "news"
    device.environment = "production"
    device.locale = "de"
    device.timezone = "Europe/Berlin"
    device.appVersion = "5.2"
    device.osVersion = "iOS 19"
    device.attributes = ["auth": "x", "p256dh": "yz"]
    return device
  }
}
