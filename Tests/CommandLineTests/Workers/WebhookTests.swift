import Foundation
import PushCore
import PushTransport
import ServiceTools
import TLS
import TestKit
import TestSupport
import Testing

@testable import CommandSupport
@testable import carillon

/// Webhooks: their events, signatures, forbidden addresses, and retries until the receiver accepts an event.
struct WebhookTests {
  private static let secret = Array("0123456789abcdef".utf8)

  private func webhook(_ server: CannedServer, _ folder: ScratchFolder, host: String = "127.0.0.1") throws -> Webhook {
    Webhook(
      name: "w", url: "https://\(host):\(server.port)/hook?x=1", secret: Self.secret, allowsPrivate: true,
      trustRoots: try folder.write("roots.pem", server.authorityPEM))
  }

  /// The receiver's calculation: `printf '1700000000.{}' | openssl dgst -sha256 -hmac 0123456789abcdef`.
  @Test func signatureEqualsThatOfOpenSSL() async throws {
    let folder = try ScratchFolder()
    let message = try folder.write("message", "1700000000.{}")
    let output = try await ChildProcess.run(
      "openssl", ["dgst", "-sha256", "-hmac", "0123456789abcdef", message])
    let digest = try #require(output.standardOutput.split(separator: " ").last).trimmingCharacters(in: .newlines)
    let webhook = Webhook(name: "w", url: "https://a", secret: Self.secret)
    expect(webhook.signature(of: Array("{}".utf8), timestamp: 1_700_000_000), is: "v1=" + digest)
  }

  @Test func eventIsPostedWithItsSignature() async throws {
    let server = try await CannedServer.start([["HTTP/1.1 204 No Content"]])
    let folder = try ScratchFolder()
    let webhook = try webhook(server, folder)
    let body = Array(#"{"event":"1-0"}"#.utf8)
    expect(await webhook.deliver(event: "1-0", body: body, timestamp: 17), is: nil)
    let request = try #require(try await server.asked().first)
    expect(request.hasPrefix("POST /hook?x=1 HTTP/1.1\r\n") && request.hasSuffix("\r\n\r\n{\"event\":\"1-0\"}"))
    for line in [
      "carillon-event: 1-0", "carillon-timestamp: 17", "content-type: application/json",
      "carillon-signature: \(webhook.signature(of: body, timestamp: 17))",
    ] {
      expect(request.contains("\r\n\(line)\r\n"), "\(request)")
    }
  }

  @Test(arguments: [
    (
      ["HTTP/1.1 302 Found", "location: https://127.0.0.1:1/"],
      "it redirects (status 302), and Carillon does not follow redirects"
    ),
    (["HTTP/1.1 500 Internal Server Error"], "status 500"), (["HTTP/1.1 404 Not Found"], "status 404"),
  ])
  func anythingButSuccessIsAFailure(answer: [String], says: String) async throws {
    let server = try await CannedServer.start([answer])
    let folder = try ScratchFolder()
    let error = await (try webhook(server, folder)).deliver(event: "1-0", body: [], timestamp: 1)
    expect(error?.hasPrefix(says), is: true, "\(error ?? "taken")")
  }

  /// No server listens at these addresses. Carillon refuses each address before it connects.
  @Test(arguments: [
    "https://127.0.0.1:1/", "https://localhost:1/", "https://[::1]:1/", "https://169.254.169.254/",
    "https://[::ffff:10.0.0.1]:1/",
  ])
  func privateAddressIsRefusedWhateverItsName(url: String) async {
    let webhook = Webhook(name: "w", url: url, secret: Self.secret)
    let error = await webhook.deliver(event: "1-0", body: [], timestamp: 1)
    expect(error?.hasPrefix("its address is private"), is: true, "\(error ?? "taken")")
  }

  private func webhooks(_ text: String) throws -> CarillonConfiguration {
    let yaml =
      "apps: { news: { apns: { topic: x, token: { keyFile: k, keyID: ABC123DEFG, teamID: DEF123GHIJ } } } }\nwebhooks: { \(text) }"
    return try ConfigurationReader(directory: "/c").read(ConfigurationNode.parse(yaml: yaml, file: "f"))
  }

  @Test(arguments: [
    ("w: { secretFile: s }", "webhooks.w.url: is missing"),
    ("w: { url: 'https://a' }", "webhooks.w.secretFile: is missing"),
    ("w: { url: 'http://a', secretFile: s }", "'http://a' is not an https:// URL"),
    ("w: { url: 'https://u:p@a', secretFile: s }", "must not have a user name or password"),
    ("w: { url: 'https://a', secretFile: s, events: all }", "unknown event 'all'"),
    ("'a b': { url: 'https://a', secretFile: s }", "the name of a webhook must be"),
    ("w: { url: 'https://a', secretFile: s, event: alarms }", "did you mean 'events'?"),
  ])
  func mistakesAreNamed(text: String, says: String) {
    let error = #expect(throws: ConfigurationError.self) { try webhooks(text) }
    let message = "\(error?.description ?? "") \(error?.hint ?? "")"
    expect(message.contains(says), "\(message)")
  }

  @Test func secretsAreReadAndNotTooShort() throws {
    let folder = try ScratchFolder()
    func targets(_ secret: String) throws -> [Webhook] {
      let file = try folder.writeSecret("secret", secret)
      return try webhooks("w: { url: 'http://a', secretFile: \(file), events: 'alarms', allowPrivate: true }")
        .webhookTargets()
    }
    expect(
      try targets("0123456789abcdef\n"),
      is: [Webhook(name: "w", url: "http://a", secret: Self.secret, kinds: [.alarms], allowsPrivate: true)])
    #expect(throws: CommandError.self) { try targets("short") }
  }

  /// The webhook fails for the first event of a campaign. It gets the same event again and then all others in order.
  @Test func workerRetriesUntilTheWebhookAccepts() async throws {
    var world = try await CarillonWorld(engine: "native")
    try await world.startSimulator()
    try await world.importDevices(5)
    // The time between two attempts is short.
    let answers = [["HTTP/1.1 503 Service Unavailable"]] + (0..<3).map { _ in ["HTTP/1.1 200 OK"] }
    let server = try await CannedServer.start(answers)
    let original = try #require(world.environment["CARILLON_CONFIG"])
    let folder = URL(filePath: original).deletingLastPathComponent().path
    let secret = try world.folder.writeSecret("secret", "0123456789abcdef\n")
    let roots = try world.folder.write("roots.pem", server.authorityPEM)
    let base = try String(contentsOfFile: original, encoding: .utf8)
      .replacing("keyFile: ", with: "keyFile: \(folder)/").replacing("trustRoots: ", with: "trustRoots: \(folder)/")
    world.environment["CARILLON_CONFIG"] = try world.folder.write(
      "carillon.yaml",
      base + """

        webhooks:
          ops: { url: "https://127.0.0.1:\(server.port)/", secretFile: \(secret), events: campaigns, allowPrivate: true, trustRoots: \(roots) }

        """)
    let worker = try await world.start("worker", "--name", "ada")
    // The webhook gets all events that come after its registration.
    try await poll(until: "the webhook is registered") {
      try await world.server.command("hexists", "{\(world.namespace)}:webhooks", "ops") == "1"
    }
    let later = ISO8601DateFormatter().string(from: .now + 86_400)
    try await world.submit("a")
    try await world.until("a") { $0.text("state") == "completed" }
    try await world.submit("b", more: #","sendAt":"\#(later)""#)
    let requests = try await server.asked()
    let bodies = try requests.map {
      try JSONObject(String($0[try #require($0.firstRange(of: "\r\n\r\n")).upperBound...]))
    }
    expect(bodies.map { $0.text("state") }, is: ["active", "active", "completed", "scheduled"])
    expect(bodies[0].text("event"), is: bodies[1].text("event"))
    expect(Set(bodies.compactMap { $0.text("event") }).count, is: 3)
    expect(bodies[2].object("campaign")?.object("outcomes")?.number("accepted"), is: 5)
    expect(bodies.allSatisfy { $0.text("kind") == "campaign" && $0.text("namespace") == world.namespace })
    let status = try JSONObject(try await world.run("status", "--json").standardOutput)
    expect(status.objects("webhooks")?.first?.text("name"), is: "ops")
    expect(await worker.terminate(), is: .status(0))
  }
}
