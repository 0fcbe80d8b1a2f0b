import Foundation
import Glibc
import PushTransport
import Synchronization
import TLS
import TestKit
import TestSupport
import Testing

/// Push services that send without end. The memory of the worker stays bounded, and SIGTERM ends it.
@Suite(.timeLimit(.minutes(6))) struct FloodMemoryTests {
  /// Growth of the worker's memory during a flood, in kB. An engine that keeps what it receives, or the answers that
  /// the server does not read, exceeds this within a second. In the short form it was at most 1,344 kB.
  private static let maximumGrowth = 16_000

  /// The short form has a flood whose frames require answers, and a flood of one header block.
  private static let floods =
    TestForm.isLong
    ? Misbehaviour.floods
    : Misbehaviour.floods.filter { ["PING without end", "a header block without end"].contains($0.description) }

  /// State that the threads of the server share with the test.
  private final class Scene: Sendable {
    let isOver = Mutex(false)
    let worker = Mutex<Int32?>(nil)
    /// Largest memory of the worker in kB before the first flood.
    let before = Mutex<Int?>(nil)
  }

  /// Returns the largest memory that a process has had, in kB (`VmHWM` in proc(5)).
  private static func peak(_ process: Int32) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) })
  }

  @Test func shortFormHasItsRows() { expect(Self.floods.count >= 2) }

  @Test(arguments: PushEngineKind.allCases, floods)
  func floodDoesNotFillTheMemory(engine: PushEngineKind, flood: Misbehaviour) async throws {
    let identity = try SelfSignedIdentity()
    let context = try TLSContext.server(identity: identity.identity, protocols: ["h2"])
    let scene = Scene()
    let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
    let server = try RawServer { descriptor in
      defer { shutdown(descriptor, Int32(SHUT_RDWR)) }
      guard
        let peer = RawPeer(descriptor, context, isOver: { scene.isOver.withLock { $0 } }), peer.takePreface()
      else { return }
      var hasFlooded = false
      flood.play(peer) {
        hasFlooded = true
        let memory = scene.worker.withLock { $0 }.flatMap { try? Self.peak($0) }
        scene.before.withLock { $0 = $0 ?? memory }
      }
      if hasFlooded { continuation.yield() }
    }
    defer {
      scene.isOver.withLock { $0 = true }
      server.stop()
    }
    var world = try await CarillonWorld(engine: engine.rawValue, devices: 50)
    // The test has no simulator, so the world does not know that the worker can send.
    world.environment["CARILLON_APPS_NEWS_APNS_ENDPOINT"] = "https://127.0.0.1:\(server.port)"
    world.environment["CARILLON_APPS_NEWS_APNS_TRUST_ROOTS"] = try world.folder.write("ca.pem", identity.authorityPEM)
    world.environment["CARILLON_WORKER_ANSWER_TIMEOUT"] = "3s"
    try await world.submit("flooded")
    let worker = try await world.start("worker", "--json")
    scene.worker.withLock { $0 = worker.processIdentifier }
    // The flood lasts until the engine closes the connection: after its limit of frames, or after the timeout.
    for await _ in ends { break }
    let measured = scene.before.withLock { $0 }
    let before = try #require(measured)
    let growth = try Self.peak(worker.processIdentifier) - before
    expect(growth < Self.maximumGrowth, "\(flood), \(engine): \(growth) kB more than \(before) kB")
    expect(await worker.terminate(), is: .status(0))
  }
}
