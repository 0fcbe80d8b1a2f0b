import APNsSimulator
import Foundation
import TLS
import TestKit
import TestSupport
import Testing

/// Clients of other projects against the simulator: they accept it as APNs.
@Suite(.timeLimit(.minutes(6)), .takesTurns) struct ForeignClientTests {
  /// A push and its expected answer.
  private struct Push: Encodable, Sendable {
    var token: String
    var isForged = false
    var status: Int
    var reason: String?
    var timestamp: Int?
  }

  /// Output of a client for each push.
  private struct Answer: Decodable {
    var status: Int
    var isEchoed: Bool
    var reason: String?
    var timestamp: Int?
  }

  private struct Order: Encodable {
    var url: String
    var authority: String
    var key: String
    var otherKey: String
    var keyID = Scene.keyID
    var teamID = Scene.teamID
    var topic = Scene.topic
    var pushes: [Push]
  }

  private static let gone = String(repeating: "0d", count: 32)
  private static let bad = String(repeating: "bd", count: 32)
  private static let timestamp = 1_600_000_000_123

  private static let pushes =
    (0..<20).map { Push(token: String(repeating: "\(10 + $0)", count: 32), status: 200) } + [
      Push(token: bad, status: 400, reason: "BadDeviceToken"),
      Push(token: gone, status: 410, reason: "Unregistered", timestamp: timestamp),
      Push(token: Scene.device, isForged: true, status: 403, reason: "InvalidProviderToken"),
      Push(token: Scene.device, status: 200),
    ]

  /// Runs `body` with a simulator that has an unregistered device and a device with a bad token.
  private func run(
    _ change: (inout SimulatorConfiguration) -> Void = { _ in }, _ body: (Scene, ScratchFolder) async throws -> Void
  ) async throws {
    try await Scene.run(change) { (scene) async throws in
      scene.simulator.load([
        .init(token: [UInt8](repeating: 0x0D, count: 32), state: .unregistered, timestamp: Int64(Self.timestamp)),
        .init(token: [UInt8](repeating: 0xBD, count: 32), state: .bad),
      ])
      let folder = try ScratchFolder("foreign-client")
      try folder.write("ca.pem", scene.simulator.authorityPEM ?? "")
      try await body(scene, folder)
    }
  }

  // MARK: Python

  @Test(.enabled(if: Python.has("httpx", "h2", "jwt"), Python.hint)) func httpxGetsRightAnswers() async throws {
    try await converse("httpx_client.py")
  }

  @Test(.enabled(if: Python.has("aioapns"), Python.hint)) func aioapnsGetsRightAnswers() async throws {
    try await converse("aioapns_client.py")
  }

  private func converse(_ script: String) async throws {
    try await run { (scene, _) async throws in
      let order = Order(
        url: "https://localhost:\(scene.simulator.port)", authority: scene.simulator.authorityPEM ?? "",
        key: scene.key.pem, otherKey: try ECPrivateKey.generate().pem, pushes: Self.pushes)
      let output = try await ChildProcess.run(
        Python.executable, [Python.script(script)],
        input: String(decoding: try JSONEncoder().encode(order), as: UTF8.self))
      expect(output.exit, is: .status(0), "\(output.standardError)")
      let answers = try output.standardOutput.split(separator: "\n").map {
        try JSONDecoder().decode(Answer.self, from: Data($0.utf8))
      }
      try #require(answers.count == Self.pushes.count)
      for (push, answer) in zip(Self.pushes, answers) {
        expect(answer.isEchoed)
        expect(answer.status, is: push.status)
        expect(answer.reason, is: push.reason)
        expect(answer.timestamp, is: push.timestamp)
      }
      let counters = await scene.simulator.counters()
      expect((counters.accepted, counters.rejected) == (21, 3))
    }
  }

  // MARK: curl

  @Test func curlGetsRightAnswers() async throws {
    try await run { (scene, folder) async throws in
      let forged = try scene.providerToken(signedBy: try ECPrivateKey.generate())
      let good = try scene.providerToken()
      for push in Self.pushes.suffix(5) {
        let id = UUID().uuidString.lowercased()
        let output = try await ChildProcess.run(
          "curl",
          [
            "--silent", "--show-error", "--include", "--http2", "--cacert", folder.path("ca.pem"),
            "--header", "authorization: bearer \(push.isForged ? forged : good)", "--header",
            "apns-topic: \(Scene.topic)", "--header", "apns-push-type: alert", "--header", "apns-id: \(id)",
            "--data", #"{"aps":{"alert":"Hello from curl"}}"#,
            "https://localhost:\(scene.simulator.port)/3/device/\(push.token)",
          ])
        expect(output.exit, is: .status(0), "\(output.standardError)")
        let text = output.standardOutput.replacingOccurrences(of: "\r\n", with: "\n")
        expect(text.hasPrefix("HTTP/2 \(push.status)") && text.contains("\napns-id: \(id)\n"), "\(text)")
        let timestamp = push.timestamp.map { ",\"timestamp\":\($0)" } ?? ""
        expect(text.hasSuffix(push.reason.map { "\n\n{\"reason\":\"\($0)\"\(timestamp)}\n" } ?? "\n\n"), "\(text)")
      }
    }
  }

  @Test func curlGetsAnAlertForAnExpiredCertificateOnly() async throws {
    let authority = try PushCertificateAuthority()
    try await run {
      $0.clientAuthorityPEM = authority.authorityPEM
    } _: { (scene, folder) async throws in
      for (validity, isGood) in [(-86_400..<86_400, true), (-7200 ..< -3600, false)] {
        let identity = try authority.issue(topic: Scene.topic, validity: validity)
        let file = try folder.write("push.pem", identity.certificateChainPEM + identity.privateKeyPEM)
        let output = try await ChildProcess.run(
          "curl",
          [
            "--silent", "--show-error", "--http2", "--cacert", folder.path("ca.pem"), "--cert", file, "--data", "{}",
            "--write-out", "%{http_code}", "https://localhost:\(scene.simulator.port)/3/device/\(Scene.device)",
          ])
        if isGood {
          expect(output.standardOutput, is: "200\n", "\(output.standardError)")
        } else {
          expect(output.standardError.contains("certificate expired"), "\(output.standardError)")
        }
      }
    }
  }

  // MARK: h2load

  @Test(.enabled(if: Tools.has("h2load"), "no h2load: deploy/install-dependencies test installs nghttp2-client"))
  func h2loadCountsEveryAnswerAsTheSimulatorDoes() async throws {
    try await run {
      // h2load opens 100 streams before it has read the server's limit.
      $0.initialStreams = 1000
    } _: { (scene, folder) async throws in
      let tokens = Self.pushes.prefix(8).map(\.token) + [Self.bad, Self.gone]
      try folder.write(
        "uris", tokens.map { "https://localhost:\(scene.simulator.port)/3/device/\($0)\n" }.joined())
      let payload = try folder.write("payload.json", #"{"aps":{"alert":"Hello from h2load"}}"#)
      let output = try await ChildProcess.run(
        "h2load",
        [
          "-n", "10000", "-c", "2", "-m", "100", "-i", folder.path("uris"), "-d", payload, "-H",
          "authorization: bearer \(try scene.providerToken())", "-H", "apns-topic: \(Scene.topic)", "-H",
          "apns-push-type: alert",
        ])
      expect(output.exit, is: .status(0), "\(output.standardError)")
      expect(output.standardOutput.contains("10000 done, 8000 succeeded, 2000 failed, 0 errored"))
      expect(output.standardOutput.contains("status codes: 8000 2xx, 0 3xx, 2000 4xx, 0 5xx"))
      let counters = await scene.simulator.counters()
      expect((counters.received, counters.accepted) == (10_000, 8000))
      expect(counters.reasons, is: ["BadDeviceToken": 1000, "Unregistered": 1000])
    }
  }
}

/// The Python interpreter with the clients from PyPI, if it exists.
private enum Python {
  static let hint: Comment = "not to be had: deploy/install-foreign-clients makes .build/foreign-clients with them"

  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

  /// Interpreter of the repository's own environment; otherwise the system's.
  static let executable: String = {
    let package = folder.deletingLastPathComponent().deletingLastPathComponent()
    let own = package.appending(path: ".build/foreign-clients/bin/python").path
    return FileManager.default.isExecutableFile(atPath: own) ? own : "python3"
  }()

  static func script(_ name: String) -> String { folder.appending(path: "ForeignClients/\(name)").path }

  /// Returns whether all these modules can be imported.
  static func has(_ modules: String...) -> Bool {
    Tools.succeeds(executable, ["-c", "import " + modules.joined(separator: ", ")])
  }
}

/// Commands of this machine.
private enum Tools {
  static func has(_ command: String) -> Bool { succeeds("sh", ["-c", "command -v \(command)"]) }

  static func succeeds(_ command: String, _ arguments: [String]) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [command] + arguments
    (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
