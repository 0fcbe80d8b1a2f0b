import Glibc
import Redis
import TestSupport

/// A fault of a soak.
struct SoakFault: Sendable {
  var name: String
  /// Injects the fault. Returns the number of duplicates that it allows; `nil` if it did not fire.
  var act: @Sendable (Stage, Fleet) async throws -> Int?

  init(_ name: String, _ act: @escaping @Sendable (Stage, Fleet) async throws -> Int?) {
    self.name = name
    self.act = act
  }

  static let all: [SoakFault] = [
    SoakFault("SIGKILL") { _, fleet in try await fleet.killOne() ? fleet.world.options.window : nil },
    SoakFault("SIGKILL of all but the oldest") { _, fleet in try await fleet.killAll() * fleet.world.options.window },
    SoakFault("SIGTERM") { stage, fleet in
      guard let worker = stage.random(of: fleet.workers) else { return nil }
      stage.expect(await worker.terminate() == .status(0), "\(worker.name) did not stop: \(worker.lastWords)")
      try await fleet.refill()
      return 0
    },
    SoakFault("SIGSTOP beyond the lease") { stage, fleet in
      guard let worker = stage.random(of: fleet.workers) else { return nil }
      worker.process.send(signal: SIGSTOP)
      await stage.elapse(milliseconds: 7000...18000)
      worker.process.send(signal: SIGCONT)
      return worker.window
    },
    SoakFault("Redis SIGKILL with AOF everysec") { _, fleet in
      try await fleet.world.server.restart()
      return 0
    },
    SoakFault("AOF tail cut by a second") { _, fleet in
      try await RedisLossCases.cutTail(fleet.world).bytes > 0 ? 0 : nil
    },
    SoakFault("Redis silent") { stage, fleet in
      await fleet.world.server.kill(SIGSTOP)
      await stage.elapse(milliseconds: 500...9000)
      await fleet.world.server.kill(SIGCONT)
      // All workers' leases may have expired.
      return fleet.world.options.window * fleet.world.workers.count
    },
    SoakFault("SCRIPT FLUSH") { _, fleet in
      try await fleet.world.redis.command("SCRIPT", "FLUSH").get()
      return 0
    },
    SoakFault("all connections to Redis cut") { _, fleet in
      try await fleet.world.redis.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").get()
      return 0
    },
    SoakFault("Redis full (maxmemory)") { stage, fleet in
      try await fleet.world.redis.command("CONFIG", "SET", "maxmemory", 1).get()
      await stage.elapse(milliseconds: 500...5000)
      try await fleet.world.redis.command("CONFIG", "SET", "maxmemory", 0).get()
      return 0
    },
  ]
}
