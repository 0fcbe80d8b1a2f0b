import Redis
import TestSupport

/// The lists of slices in Redis are only hints. A duplicated or missing reference in them must do no harm.
enum ReferenceCases {
  static let all = [doubled, lost]

  private static func world(_ stage: Stage) async throws -> FaultWorld {
    try await stage.world {
      $0.devices = stage.times(short: 800, full: 3000)
      $0.simulator = ["--latency", "200ms"]
    }
  }

  static let doubled = FaultCase(
    "references-doubled", faults: ["a slice's reference in two lists"],
    invariant: "one worker at a time owns a slice; the slice counts once", bound: "0: no worker died"
  ) { stage in
    let world = try await world(stage)
    let fleet = try await Fleet(stage, world, size: 3)
    let control = "{\(world.namespace)}:"
    for number in 1...stage.times(short: 1, full: 5) {
      let campaign = try await world.submit(FaultCampaign("doubled-\(number)"), reaching: 20)
      var left = 16
      while left > 0, try await !world.hasEnded(campaign) {
        // The additional reference is to a finished slice, to a slice that a worker holds, or to any slice.
        let some =
          switch stage.random(0...4) {
          case 0...1: try await world.finishedSlices(of: campaign)
          case 2...3: try await world.heldSlices(of: campaign, by: fleet.workers)
          default: [Int]()
          }
        let partition = stage.random(of: some) ?? stage.random(0...(world.options.partitions - 1))
        var pipeline = RedisPipeline()
        if stage.random(0...1) == 0 {
          pipeline.append("RPUSH", control + "open:" + campaign.id, partition)
        } else {
          pipeline.append("ZADD", control + "parked", 1, "\(partition):\(campaign.id)")
        }
        _ = try await world.redis.execute(pipeline)[0].get()
        stage.fired("a slice's reference in two lists")
        left -= 1
        await stage.elapse(milliseconds: 50...200)
      }
      try await stage.check(world, after: campaign)
    }
  }

  static let lost = FaultCase(
    "references-lost", faults: ["references of slices lost"],
    invariant: "a slice that is in no list is found", bound: "window × kills"
  ) { stage in
    let world = try await world(stage)
    let fleet = try await Fleet(stage, world, size: 3)
    let control = "{\(world.namespace)}:"
    for number in 1...stage.times(short: 1, full: 4) {
      let campaign = try await world.submit(FaultCampaign("lost-\(number)"), reaching: 20)
      for _ in 1...stage.times(short: 1, full: 3) {
        guard try await !world.hasEnded(campaign) else { break }
        // Deletes one list that has references. The search for it begins at a random list.
        let first = stage.random(0...fleet.workers.count)
        let lists = ["open:" + campaign.id] + fleet.workers.map { "processing:" + $0.name }
        for list in lists[first...] + lists[..<first] {
          guard try await world.redis.command("DEL", control + list).get().integer == 1 else { continue }
          stage.fired("references of slices lost")
          break
        }
        guard let worker = stage.random(of: fleet.workers) else { break }
        // Without the references this case can't know which slices the worker held, so it allows duplicates for a whole
        // window.
        if await world.kill(worker) { stage.allow(duplicates: worker.window) }
        try await fleet.refill()
      }
      try await stage.check(world, after: campaign)
    }
  }
}

extension FaultWorld {
  /// Returns the partitions whose slices are counted as finished.
  fileprivate func finishedSlices(of campaign: FaultCampaign) async throws -> [Int] {
    let bits =
      try await redis.command("GET", "{\(namespace)}:finished:\(campaign.id)").get().bytes.map(Array.init) ?? []
    return (0..<options.partitions).filter { $0 / 8 < bits.count && bits[$0 / 8] >> UInt8(7 - $0 % 8) & 1 == 1 }
  }

  /// Returns the partitions whose slices are in the workers' lists.
  fileprivate func heldSlices(of campaign: FaultCampaign, by workers: [WorkerProcess]) async throws -> [Int] {
    var pipeline = RedisPipeline()
    for worker in workers { pipeline.append("LRANGE", "{\(namespace)}:processing:" + worker.name, 0, -1) }
    let references = try await redis.execute(pipeline).flatMap { try $0.get().map { $0.string ?? "" } }
    return references.compactMap { reference in
      let parts = reference.split(separator: ":", maxSplits: 1)
      return parts.last.map(String.init) == campaign.id ? parts.first.flatMap { Int($0) } : nil
    }
  }
}
