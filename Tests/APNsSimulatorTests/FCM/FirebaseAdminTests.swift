import APNsSimulator
import Foundation
import TestKit
import TestSupport
import Testing

/// Google's own client against the simulator: it accepts the simulator as FCM and raises its own errors.
@Suite(.timeLimit(.minutes(6))) struct FirebaseAdminTests {
  private struct Order: Encodable {
    var url: String
    var account: [String: String]
    var pushes: [Push]
  }

  private struct Push: Encodable {
    var token: String?
    var topic: String?
    var isDry = false
    /// The class of the expected exception; `nil` for an acceptance.
    var error: String?
  }

  private static let pushes = [
    Push(token: FCMScene.token), Push(topic: "news"), Push(token: FCMScene.token, isDry: true),
    Push(token: "unregistered", error: "UnregisteredError"), Push(token: "malformed", error: "InvalidArgumentError"),
    Push(token: "otherProject", error: "SenderIdMismatchError"),
    Push(token: "thirdPartyAuth", error: "ThirdPartyAuthError"), Push(token: "busy", error: "QuotaExceededError"),
    // The project's quota has no error code of FCM (reference 6.2).
    Push(token: "quota", error: "ResourceExhaustedError"),
  ]

  private static let python = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../.build/firebase-admin/bin/python").standardized.path
  private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appending(path: "../ForeignClients/firebase_admin_client.py").standardized.path
  private static let hint: Comment = "deploy/install-foreign-clients makes .build/firebase-admin"

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: python), hint))
  func firebaseAdminSendsAndRaisesItsErrors() async throws {
    try await FCMScene.run {
      $0.failures = [
        .init(share: 1, kind: .deviceQuota, tokenPrefix: "busy"),
        .init(share: 1, kind: .projectQuota, tokenPrefix: "quota"),
      ]
    } _: { (scene) async throws in
      scene.simulator.load([
        .init("unregistered", state: .unregistered), .init("malformed", state: .malformed),
        .init("otherProject", state: .otherProject), .init("thirdPartyAuth", state: .thirdPartyAuth),
      ])
      let folder = try ScratchFolder("firebase-admin")
      let authority = try folder.write("ca.pem", scene.simulator.authorityPEM ?? "")
      let account = try JSONDecoder().decode([String: String].self, from: Data(try scene.serviceAccount().utf8))
      let order = Order(
        url: "https://localhost:\(scene.simulator.fcmPort ?? 0)/v1/projects/{0}/messages:send", account: account,
        pushes: Self.pushes)
      let output = try await ChildProcess.run(
        "env",
        ["REQUESTS_CA_BUNDLE=\(authority)", "SSL_CERT_FILE=\(authority)", Self.python, Self.script],
        input: String(decoding: try JSONEncoder().encode(order), as: UTF8.self))
      expect(output.exit, is: .status(0), "\(output.standardError)")
      let lines = try output.standardOutput.split(separator: "\n").map { try JSONObject(String($0)) }
      try #require(lines.count == Self.pushes.count + 2, "\(output.standardOutput)")
      for (push, line) in zip(Self.pushes, lines) {
        expect(line.text("error"), is: push.error, "\(push): \(line.text("text") ?? "")")
        if push.error == nil {
          expect(line.text("name")?.hasPrefix("projects/\(FCMScene.project)/messages/"), is: true)
        }
      }
      expect(lines.suffix(2).map { $0.number("success") }, is: [5, 50])
      let counters = await scene.simulator.counters().fcm
      // google-auth takes every 401 for an expired access token, even one about the credentials of a third party. It
      // mints a new token and sends again, twice.
      expect((counters.accepted, counters.validated, counters.rejected) == (58, 1, 8))
      expect(counters.mints >= 3)
    }
  }
}
