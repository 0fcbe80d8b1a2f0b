import Foundation
import Glibc
import PushCore
import Synchronization
import TestKit
import TestSupport
import Testing

/// Webhooks of one fleet. None waits for another, and each gets every change exactly once from the first change on.
@Suite(.timeLimit(.minutes(6))) struct WebhookPaceTests {
  /// A receiver of events on this machine.
  private final class Receiver: Sendable {
    /// Behaviour of the receiver for an event.
    enum Manner {
      case takes
      case redirects
      /// Answers each event after ``Gate`` has opened.
      case waits(Gate)
    }

    /// A gate that lets all callers pass after it has opened.
    final class Gate: Sendable {
      private let condition = DispatchSemaphore(value: 0)

      func open() { condition.signal() }

      func pass() {
        condition.wait()
        condition.signal()
      }
    }

    /// Bodies in the order of their arrival.
    let bodies: AsyncStream<String>
    private let server: RawServer

    var port: UInt16 { server.port }

    init(_ manner: Manner) throws {
      let (bodies, arrived) = AsyncStream.makeStream(of: String.self)
      self.bodies = bodies
      server = try RawServer { client in
        guard let head = RawServer.readHead(of: client),
          let length = head.lowercased().split(separator: "\r\n").first(where: { $0.hasPrefix("content-length: ") }),
          let count = Int(length.dropFirst("content-length: ".count))
        else { return }
        var body = [UInt8](repeating: 0, count: count)
        guard recv(client, &body, count, Int32(MSG_WAITALL)) == count else { return }
        arrived.yield(String(decoding: body, as: UTF8.self))
        switch manner {
        case .takes: break
        case .redirects:
          _ = RawServer.write("HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n", to: client)
          return
        case .waits(let gate): gate.pass()
        }
        _ = RawServer.write("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n", to: client)
      }
    }

    /// Waits for `count` different events. An event that was not answered in time arrives again.
    func next(_ count: Int) async throws -> [JSONObject] {
      var got: [JSONObject] = []
      for await body in bodies {
        let event = try JSONObject(body)
        if !got.contains(where: { $0.text("event") == event.text("event") }) { got.append(event) }
        if got.count == count { break }
      }
      return got
    }
  }

  private static let expected = ["a active", "a completed", "b scheduled", "b cancelled", "c active", "c cancelled"]

  private static func names(_ events: [JSONObject]) -> [String] {
    events.map { "\($0.object("campaign")?.text("id") ?? "") \($0.text("state") ?? "")" }
  }

  /// There are five webhooks: two accept events, one never answers, one answers late, one redirects. The two get all
  /// events while the others have accepted none. The late webhook also gets all events in the end. The first campaign
  /// was in the queue before the fleet started.
  @Test func eachWebhookHasItsOwnPace() async throws {
    var world = try await CarillonWorld(engine: "native")
    try await world.startSimulator()
    try await world.importDevices(5)
    let (never, later) = (Receiver.Gate(), Receiver.Gate())
    // The threads of the receiver end with the test.
    defer { never.open() }
    let receivers = [
      "first": try Receiver(.takes), "hung": try Receiver(.waits(never)), "late": try Receiver(.waits(later)),
      "redirecting": try Receiver(.redirects), "second": try Receiver(.takes),
    ]
    let secret = try world.folder.writeSecret("secret", "0123456789abcdef\n")
    let original = try #require(world.environment["CARILLON_CONFIG"])
    let folder = URL(filePath: original).deletingLastPathComponent().path
    let base = try String(contentsOfFile: original, encoding: .utf8)
      .replacing("keyFile: ", with: "keyFile: \(folder)/").replacing("trustRoots: ", with: "trustRoots: \(folder)/")
    let hooks = receivers.map { name, receiver in
      "  \(name): { url: \"http://127.0.0.1:\(receiver.port)/\", secretFile: \(secret), events: campaigns, allowPrivate: true }"
    }
    world.environment["CARILLON_CONFIG"] = try world.folder.write(
      "carillon.yaml", base + "\nwebhooks:\n" + hooks.joined(separator: "\n") + "\n")
    try await world.submit("a")
    let worker = try await world.start("worker", "--name", "ada")
    try await world.until("a") { $0.text("state") == "completed" }
    let tomorrow = ISO8601DateFormatter().string(from: .now + 86_400)
    try await world.submit("b", more: #","sendAt":"\#(tomorrow)""#)
    try await world.until("b") { $0.text("state") == "scheduled" }
    try await world.succeed("campaign", "cancel", "b")
    try await world.submit("c", more: #","rate":1"#)
    try await world.until("c") { $0.text("state") == "active" }
    try await world.succeed("campaign", "cancel", "c")
    try await world.until("c") { $0.text("finishedAt") != nil }
    // A last event: a second event of a cancelled campaign would arrive before it.
    try await world.submit("d", more: #","sendAt":"\#(tomorrow)""#)
    for name in ["first", "second"] {
      let events = try await #require(receivers[name]).next(7)
      expect(Self.names(events), is: Self.expected + ["d scheduled"], "\(name)")
      expect(Set(events.compactMap { $0.text("event") }).count, is: 7, "\(name)")
    }
    // The late webhook got the first event several times, and no other event.
    later.open()
    expect(try await Self.names(#require(receivers["late"]).next(7)), is: Self.expected + ["d scheduled"])
    let status = try JSONObject(try await world.run("status", "--json").standardOutput)
    let redirecting = status.objects("webhooks")?.first { $0.text("name") == "redirecting" }
    expect(redirecting?.text("error")?.contains("redirects"), is: true, "\(status)")
    expect(await worker.terminate(), is: .status(0))
  }
}
