import Foundation
import Glibc
import Redis
import TestSupport

/// Redis runs, but refuses commands: it lacks scripts, memory or disk space, closes connections, or is read-only.
enum RedisRefusalCases {
  static let all = [flushed, disconnected, full, diskFull, readOnly]

  private static let workers = 3

  private static func world(_ stage: Stage, _ change: (inout FaultWorld.Options) -> Void = { _ in }) async throws
    -> FaultWorld
  {
    try await stage.world {
      $0.devices = stage.times(short: 1500, full: 5000)
      $0.simulator = ["--latency", "200ms"]
      change(&$0)
    }
  }

  /// Returns how often Redis has answered with an error of this kind.
  private static func errors(_ kind: String, _ world: FaultWorld) async throws -> Int {
    let stats = try await world.redis.command("INFO", "errorstats").get().string ?? ""
    let line = stats.split(whereSeparator: \.isNewline).first { $0.hasPrefix("errorstat_\(kind):count=") }
    return line.flatMap { Int($0.split(separator: "=").last ?? "") } ?? 0
  }

  /// Plays campaigns, and repeats a short fault of Redis until they end.
  private static func again(
    _ stage: Stage, _ world: FaultWorld, _ fault: String, campaigns: Int, pace: ClosedRange<Int>,
    _ act: () async throws -> Bool
  ) async throws {
    _ = try await Fleet(stage, world, size: workers)
    for number in 1...campaigns {
      let campaign = try await world.submit(FaultCampaign("refusal-\(number)"))
      while try await !world.hasEnded(campaign) {
        if try await act() { stage.fired(fault) }
        await stage.elapse(milliseconds: pace)
      }
      try await stage.check(world)
    }
    stage.expect(world.workers.count == workers, "a worker did not survive the fault")
  }

  static let flushed = FaultCase(
    "script-flush", faults: ["SCRIPT FLUSH"], invariant: "workers load the scripts again; nothing runs twice",
    bound: "0"
  ) { stage in
    let world = try await world(stage)
    try await again(
      stage, world, "SCRIPT FLUSH", campaigns: stage.times(short: 1, full: 3), pace: 100...500
    ) { try await world.redis.command("SCRIPT", "FLUSH").get().string == "OK" }
    stage.expect(try await errors("NOSCRIPT", world) > 0, "no worker ever missed a script")
  }

  /// Before every second cut, Redis pauses writes for a moment. So this cut hits commits that Redis has received but
  /// not run yet, and workers that hold answers until these commits are done. The other cuts sometimes hit a commit
  /// whose reply is in flight.
  static let disconnected = FaultCase(
    "redis-disconnects", faults: ["all connections to Redis cut"],
    invariant: "a commit whose reply was lost is not applied twice", bound: "0: no worker died"
  ) { stage in
    let world = try await world(stage)
    var cuts = 0
    try await again(
      stage, world, "all connections to Redis cut", campaigns: stage.times(short: 1, full: 3), pace: 400...1500
    ) {
      let stands = cuts.isMultiple(of: 2)
      if stands {
        try await world.redis.command("CLIENT", "PAUSE", 10_000, "WRITE").get()
        await stage.elapse(milliseconds: 250...400)
      }
      let cut = try await world.redis.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").get().integer ?? 0
      if stands { try await world.redis.command("CLIENT", "UNPAUSE").get() }
      cuts += 1
      return cut > 0
    }
  }

  static let full = FaultCase(
    "maxmemory", faults: ["Redis full (maxmemory), then room again"],
    invariant: "running work ends; nothing is lost", bound: "0: no worker died"
  ) { stage in
    let world = try await world(stage)
    _ = try await Fleet(stage, world, size: workers)
    for number in 1...stage.times(short: 1, full: 5) {
      let campaign = try await world.submit(FaultCampaign("full-\(number)"), reaching: 50)
      for _ in 1...stage.times(short: 1, full: 2) {
        try await world.redis.command("CONFIG", "SET", "maxmemory", 1).get()
        let refusal = try await world.redis.command("SET", "{\(world.namespace)}:probe", "x").error
        await stage.elapse(milliseconds: 1000...8000)
        try await world.redis.command("CONFIG", "SET", "maxmemory", 0).get()
        if refusal?.code == .outOfMemory { stage.fired("Redis full (maxmemory), then room again") }
        await stage.elapse(milliseconds: 300...1000)
      }
      try await stage.check(world, after: campaign)
    }
  }

  // MARK: Disk

  static let diskFull = FaultCase(
    "disk-full", faults: ["disk full under the AOF (MISCONF)"],
    invariant: "workers keep answers and record them when there is room",
    bound: "window × workers if it lasts for a lease"
  ) { stage in
    let disk = try ScratchFolder("disk")
    let options = geteuid() == 0 ? ["--mount"] : ["--mount", "--map-root-user"]
    let mount = "mount -t tmpfs -o size=48m tmpfs \(disk.url.path)"
    guard try await ChildProcess.run("unshare", options + ["sh", "-c", mount]).exit == .status(0) else {
      throw FaultSkipped("no tmpfs can be mounted here: needs root, or user namespaces")
    }
    let world = try await world(stage) {
      $0.redis = ["--appendonly", "yes", "--appendfsync", "everysec", "--dir", disk.url.path]
      $0.redisLauncher = ["unshare"] + options + ["sh", "-c", mount + #" && exec "$0" "$@""#]
    }
    _ = try await Fleet(stage, world, size: workers)
    // The disk is mounted in the server's own mount namespace. This path leads into that namespace.
    let filler = "/proc/\(await world.server.processIdentifier)/root\(disk.url.path)/filler"
    for number in 1...stage.times(short: 1, full: 4) {
      let campaign = try await world.submit(FaultCampaign("disk-\(number)"), reaching: 50)
      let seconds = stage.random(2...stage.times(short: 2, full: 9))
      try fill(filler)
      try await until("Redis can't write its AOF", within: .seconds(10)) {
        let info = try await world.redis.command("INFO", "persistence").get().string ?? ""
        return info.contains("aof_last_write_status:err")
      }
      await elapse(.seconds(seconds))
      guard unlink(filler) == 0 else { throw TestSupportError("could not remove \(filler)") }
      // A worker renews a lease when two thirds of it remain.
      let mayExpire = seconds * 1000 >= StandstillCases.lease / 3
      stage.fired("disk full under the AOF (MISCONF)", duplicates: mayExpire ? world.options.window * workers : 0)
      try await stage.check(world, after: campaign)
    }
  }

  private static func fill(_ path: String) throws {
    let file = open(path, O_CREAT | O_WRONLY, 0o600)
    guard file >= 0 else { throw TestSupportError("open \(path): \(String(cString: strerror(errno)))") }
    defer { close(file) }
    let zeros = [UInt8](repeating: 0, count: 1 << 16)
    while write(file, zeros, zeros.count) == zeros.count {}
    // The disk must be full to the last byte, because a commit is small.
    while write(file, zeros, 1) == 1 {}
  }

  // MARK: Failover

  static let readOnly = FaultCase(
    "failover", faults: ["the primary becomes a replica (READONLY), and primary again"],
    invariant: "workers wait for a primary and replay what it lacks", bound: "0: no worker died"
  ) { stage in
    let world = try await world(stage)
    let replica = try await RedisServer.start(arguments: ["--replicaof", "127.0.0.1 \(world.server.port)"])
    _ = try await Fleet(stage, world, size: workers)
    for number in 1...stage.times(short: 1, full: 4) {
      try await until("the replica is in step") {
        try await replica.command("INFO", "replication").contains("master_link_status:up")
      }
      let campaign = try await world.submit(FaultCampaign("failover-\(number)"), reaching: 100)
      try await replica.command("REPLICAOF", "NO", "ONE")
      try await world.redis.command("REPLICAOF", "127.0.0.1", Int(replica.port)).get()
      try await until("the old primary follows the new one") {
        try await world.server.command("INFO", "replication").contains("master_link_status:up")
      }
      // This uses redis-cli, because our own client disconnects from a server that accepts no writes and waits for one
      // that does.
      let refusal = try await world.server.command("SET", "{\(world.namespace)}:probe", "x")
      await stage.elapse(milliseconds: 200...1500)
      try await world.server.command("REPLICAOF", "NO", "ONE")
      if refusal.hasPrefix("READONLY") {
        stage.fired("the primary becomes a replica (READONLY), and primary again")
      }
      try await replica.command("REPLICAOF", "127.0.0.1", String(world.server.port))
      try await stage.check(world, after: campaign)
    }
    await replica.kill(SIGKILL)
  }
}
