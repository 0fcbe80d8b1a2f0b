import Glibc
import Redis
import TestSupport

/// Campaigns that prefer unknown outcomes to duplicates.
enum SkipCases {
  static let all = [killed, stopped]

  static let killed = FaultCase(
    "skip-and-kill", faults: ["SIGKILL with ambiguity: skip"],
    invariant: "no target gets a push twice; targets in doubt become unknown", bound: "0"
  ) { stage in
    let world = try await stage.world {
      $0.partitions = 32
      $0.devices = stage.times(short: 1000, full: 3000)
      $0.simulator = ["--latency", "200ms"]
    }
    let fleet = try await Fleet(stage, world, size: 3)
    for number in 1...stage.times(short: 1, full: 5) {
      let campaign = FaultCampaign("skip-\(number)") {
        $0.ambiguity = .skip
        $0.results = "all"
      }
      try await world.submit(campaign)
      try await world.reached(50, of: campaign)
      var left = stage.times(short: 2, full: 10)
      while left > 0, try await !world.hasEnded(campaign) {
        if try await fleet.killOne() { stage.fired("SIGKILL with ambiguity: skip") }
        left -= 1
        await stage.elapse(milliseconds: 300...1000)
      }
      try await stage.check(world, after: campaign)
    }
  }

  static let stopped = FaultCase(
    "skip-and-stop", faults: ["SIGSTOP beyond the lease with ambiguity: skip"],
    invariant: "no target gets a push twice; late answers replace unknown", bound: "0"
  ) { stage in
    // The slices are large, so that they are still open when the frozen worker continues. A closed slice accepts no
    // answers.
    let world = try await stage.world {
      $0.partitions = 2
      $0.devices = 4000
      $0.simulator = ["--latency", "300ms"]
    }
    let fleet = try await Fleet(stage, world, size: 3)
    for number in 1...stage.times(short: 1, full: 4) {
      let campaign = FaultCampaign("skip-stop-\(number)") {
        $0.ambiguity = .skip
        $0.losesNoAnswer = true
      }
      try await world.submit(campaign)
      try await world.reached(stage.random(20...200), of: campaign)
      var holders: [WorkerProcess] = []
      for worker in fleet.workers {
        let list = "{\(world.namespace)}:processing:\(worker.name)"
        if try await world.redis.command("LLEN", list).get().integer ?? 0 > 0 { holders.append(worker) }
      }
      guard let asleep = stage.random(of: holders) else { break }
      asleep.process.send(signal: SIGSTOP)
      await elapse(.milliseconds(StandstillCases.lease + 1500))
      asleep.process.send(signal: SIGCONT)
      stage.fired("SIGSTOP beyond the lease with ambiguity: skip")
      try await world.ended(campaign)
      // The worker must first record its answers, and then stop.
      stage.expect(await asleep.terminate() == .status(0), "\(asleep.name) did not stop: \(asleep.lastWords)")
      try await fleet.refill()
      try await stage.check(world)
    }
  }
}
