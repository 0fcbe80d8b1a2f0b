import Foundation
import TestSupport
import Testing

/// What a worker tells a service manager that listens (systemd, `Type=notify`).
struct ServiceManagerTests {
  @Test func workerNotifiesReadinessWatchdogAndStop() async throws {
    let world = try await CarillonWorld(engine: "native")
    let socket = try NotifySocket(world.folder.path("notify"))
    let worker = try await world.start(
      ["worker", "--name", "served", "--json"],
      environment: ["NOTIFY_SOCKET": socket.address, "WATCHDOG_USEC": "200000"])
    let ready = try #require(await socket.message(containing: "READY=1"))
    #expect(ready.contains("STATUS=worker served takes campaigns"))
    // It is registered by then: whoever waits for it can send.
    #expect(try await world.server.command("ZCARD", "{\(world.namespace)}:workers") == "1")
    for _ in 0..<3 { _ = try #require(await socket.message(containing: "WATCHDOG=1")) }
    worker.send(signal: SIGTERM)
    _ = try #require(await socket.message(containing: "STOPPING=1"))
    #expect(await worker.waitForExit() == .status(0))
  }
}
