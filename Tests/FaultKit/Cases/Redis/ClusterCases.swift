import Foundation
import Glibc
import TestSupport

/// Faults of a cluster of six servers during campaigns, while workers are also killed.
enum ClusterCases {
  static let all = [killed, frozen, failover, moved, leftOpen, added, restarted, accessChanged]

  private static let workers = 3

  /// Plays campaigns with a fault of the servers and the death of a worker.
  ///
  /// - Parameters:
  ///   - isLong: whether the fault may last longer than leases, so that every lease may have expired.
  ///   - act: injects the fault; returns when the cluster is healthy again.
  private static func happening(
    _ name: String, fault: String, isLong: Bool,
    _ act: @escaping @Sendable (Stage, FaultWorld, RedisCluster, _ slot: Int) async throws -> Void
  ) -> FaultCase {
    FaultCase(
      name, faults: [fault], invariant: "every target has one outcome; campaigns continue without help",
      bound: isLong ? "window × workers × times, and window × kills" : "window × kills"
    ) { stage in
      let world = try await stage.world {
        $0.servers = .cluster
        $0.devices = stage.times(short: 2000, full: 5000)
        $0.simulator = ["--latency", "300ms"]
        $0.redis = ["--appendonly", "yes", "--appendfsync", "everysec"]
      }
      guard case .cluster(let cluster) = world.servers else { throw TestSupportError("no cluster") }
      let fleet = try await Fleet(stage, world, size: workers)
      // The fault hits in turn the server with the shared keys and a server that has only partitions.
      for number in 1...stage.times(short: 1, full: 4) {
        let campaign = try await world.submit(FaultCampaign("\(name)-\(number)"), reaching: 100)
        let key = number % 2 == 1 ? world.namespace : "\(world.namespace):\(stage.random(0...15))"
        let slot = try await cluster.slot(of: "{\(key)}")
        let before = Int(Date().timeIntervalSince1970 * 1000)
        // At the fault the replacement has started, and no worker has taken over the dead worker's slices yet.
        let deaths = try await fleet.killOne() ? 1 : 0
        try await act(stage, world, cluster, slot)
        let window = world.options.window
        stage.fired(fault, duplicates: window * deaths + (isLong ? window * workers : 0))
        try await world.ended(campaign)
        stage.addNote(
          "\(key == world.namespace ? "control" : "a partition"): \(try pause(world, since: before)) ms unsent")
        try await stage.check(world)
      }
    }
  }

  /// Returns the longest time in ms without a push between a given time and the last push.
  static func pause(_ world: FaultWorld, since: Int) throws -> Int {
    let times = [since] + (try world.simulatorLog().requests.map(\.at).filter { $0 >= since }.sorted())
    return zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? 0
  }

  static let killed = happening("cluster-killed", fault: "primary of a cluster SIGKILL", isLong: true) {
    _, _, cluster, slot in
    let old = try await cluster.owner(of: slot)
    await old.kill(SIGKILL)
    try await cluster.awaitOwner(of: slot, otherThan: old)
    try await old.restart()
    try await cluster.awaitReplicas()
  }

  static let frozen = happening("cluster-frozen", fault: "primary of a cluster stopped (SIGSTOP)", isLong: true) {
    _, _, cluster, slot in
    let old = try await cluster.owner(of: slot)
    await old.kill(SIGSTOP)
    try await cluster.awaitOwner(of: slot, otherThan: old)
    await old.kill(SIGCONT)
    try await cluster.awaitReplicas()
  }

  static let failover = happening("cluster-failover", fault: "planned failover in a cluster", isLong: false) {
    _, _, cluster, slot in
    try await cluster.failOver(try await cluster.owner(of: slot))
    try await cluster.awaitReplicas()
  }

  static let moved = happening("cluster-slot-moved", fault: "slot moved to another server", isLong: false) {
    stage, _, cluster, slot in
    let old = try await cluster.owner(of: slot)
    let others = try await cluster.primaries().filter { $0.port != old.port }
    guard let target = stage.random(of: others) else { throw TestSupportError("no other server") }
    try await cluster.move(slot, to: target)
  }

  static let leftOpen = happening("cluster-slot-open", fault: "slot left open, half of it moved", isLong: true) {
    stage, _, cluster, slot in
    let old = try await cluster.owner(of: slot)
    let others = try await cluster.primaries().filter { $0.port != old.port }
    guard let target = stage.random(of: others) else { throw TestSupportError("no other server") }
    try await cluster.open(slot, to: target)
    try await cluster.moveKeys(slot, from: old, to: target, limit: 3)
    await elapse(.seconds(stage.times(short: 4, full: 20)))
    while try await cluster.moveKeys(slot, from: old, to: target, limit: 10) > 0 {}
    try await cluster.close(slot, at: target)
  }

  static let added = happening("cluster-added", fault: "server added, slots moved to it", isLong: false) {
    stage, world, cluster, slot in
    let server = try await cluster.addServer()
    try await cluster.move(slot, to: server)
    for partition in 0..<4 {
      try await cluster.move(try await cluster.slot(of: "{\(world.namespace):\(partition)}"), to: server)
    }
  }

  static let restarted = happening(
    "cluster-restarted", fault: "all servers restarted one after the other", isLong: true
  ) {
    _, _, cluster, _ in
    for server in await cluster.servers {
      await server.stop()
      try await server.restart()
      try await cluster.awaitAgreement()
      try await cluster.awaitReplicas()
    }
  }

  /// The workers are not notified of the change. A worker that connects later finds the new files.
  static let accessChanged = FaultCase(
    "cluster-access", faults: ["TLS certificate and authority replaced", "password replaced"],
    invariant: "every target has one outcome; campaigns continue without help", bound: "0: no worker died"
  ) { stage in
    let world = try await stage.world {
      $0.servers = .securedCluster
      $0.devices = stage.times(short: 2000, full: 5000)
      $0.simulator = ["--latency", "300ms"]
    }
    guard case .cluster(let cluster) = world.servers, let certificates = cluster.certificates else {
      throw TestSupportError("no cluster with TLS")
    }
    let servers = await cluster.servers
    let password = try ScratchFolder("password")
    func set(_ text: String) async throws {
      for server in servers {
        try await server.command("acl", "setuser", "worker", "on", "resetpass", ">\(text)", "~*", "&*", "+@all")
      }
      try password.writeSecret("password", text + "\n")
    }
    try await set("one")
    _ = try await Fleet(
      stage, world, size: workers,
      environment: [
        "CARILLON_REDIS_USER": "worker", "CARILLON_REDIS_PASSWORD_FILE": password.path("password"),
      ])
    for number in 1...stage.times(short: 1, full: 3) {
      let campaign = try await world.submit(FaultCampaign("access-\(number)"), reaching: 100)
      let before = Int(Date().timeIntervalSince1970 * 1000)
      try certificates.renew()
      for server in servers {
        try await server.command("config", "set", "tls-cert-file", certificates.serverCertificate)
      }
      for server in servers { try await server.command("client", "kill", "type", "normal") }
      stage.fired("TLS certificate and authority replaced")
      try await set("number \(number)")
      for server in servers { try await server.command("client", "kill", "user", "worker") }
      stage.fired("password replaced")
      try await world.ended(campaign)
      stage.addNote("\(try pause(world, since: before)) ms unsent")
      try await stage.check(world)
    }
    stage.expect(world.workers.count == workers, "a worker did not survive that certificate and password changed")
  }
}
