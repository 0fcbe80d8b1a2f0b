import Foundation
import TestKit
import TestSupport
import Testing

/// Notifications of a worker to a service manager (systemd, `Type=notify`).
struct ServiceManagerTests {
  @Test func workerNotifiesReadinessWatchdogAndStop() async throws {
    let world = try await CarillonWorld(engine: "native")
    let socket = try NotifySocket(world.folder.path("notify"))
    let worker = try await world.start(
      ["worker", "--name", "served", "--json"],
      environment: ["NOTIFY_SOCKET": socket.address, "WATCHDOG_USEC": "200000"])
    let ready = try #require(await socket.message(containing: "READY=1"))
    expect(ready.contains("STATUS=worker served is taking campaigns"))
    // The worker is registered at this point, so a program that waits for it can send jobs.
    expect(try await world.server.command("ZCARD", "{\(world.namespace)}:workers"), is: "1")
    for _ in 0..<3 { _ = try #require(await socket.message(containing: "WATCHDOG=1")) }
    worker.send(signal: SIGTERM)
    _ = try #require(await socket.message(containing: "STOPPING=1"))
    expect(await worker.waitForExit(), is: .status(0))
  }
}
