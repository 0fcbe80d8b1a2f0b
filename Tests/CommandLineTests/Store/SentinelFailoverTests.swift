import Foundation
import PushTransport
import TestKit
import TestSupport
import Testing

/// Commands and workers with a Redis behind sentinels.
@Suite(.takesTurns) struct SentinelFailoverTests {
  @Test(arguments: [false, true])
  func campaignContinuesWhenThePrimaryChanges(isKilled: Bool) async throws {
    let redis = try await RedisSentinels()
    var world = try await CarillonWorld(engine: PushEngineKind.native.rawValue)
    world.environment["CARILLON_REDIS_URL"] = redis.url
    let simulator = try await world.startSimulator()
    try await simulator.setLatency(milliseconds: 300)
    world.environment["CARILLON_WORKER_WINDOW"] = "20"
    try await world.importDevices(400)
    try await world.submit("a")
    // The failover itself must not lose acknowledged data, so the test waits for the replicas.
    for server in redis.servers where server.port != redis.servers[0].port {
      try await poll(until: "the replica has the job") {
        try await server.command("exists", "{\(world.namespace)}:job:a") == "1"
      }
    }
    let worker = try await world.start("worker", "--drain", "--name", "w")
    try await poll(until: "60 pushes are accepted") { try await simulator.counters().number("accepted") ?? 0 >= 60 }
    if isKilled { await redis.servers[0].kill(SIGKILL) } else { try await redis.failOver() }
    expect(await worker.waitForExit(), is: .status(0))
    try await redis.awaitPrimary(otherThan: redis.servers[0])
    let shown = try await world.show("a")
    expect(shown.text("state"), is: "completed")
    expect(shown.object("outcomes")?.number("accepted"), is: 400, "\(shown)")
    await redis.stop()
  }
}
