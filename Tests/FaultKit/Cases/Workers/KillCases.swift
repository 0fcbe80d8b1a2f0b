import Glibc
import TestSupport

/// Workers that die of SIGKILL at any moment.
enum KillCases {
  static let all = [alone, random, sameName, silence, allWorkers] + moments

  private static let window = 50

  private static func world(_ stage: Stage, devices: Int = 4000, latency: String = "200ms") async throws -> FaultWorld {
    try await stage.world {
      $0.partitions = 32
      $0.window = window
      $0.devices = stage.times(short: 1000, full: devices)
      $0.simulator = ["--latency", latency]
      $0.timesTakeovers = true
    }
  }

  private static func kills(_ name: String, fault: String, reusesNames: Bool) -> FaultCase {
    FaultCase(
      name, faults: [fault], invariant: "every target has one outcome; the slices of dead workers are taken over",
      bound: "window × kills"
    ) { stage in
      let world = try await world(stage)
      let fleet = try await Fleet(stage, world, size: 3, reusesNames: reusesNames)
      for number in 1...stage.times(short: 1, full: 6) {
        let campaign = try await world.submit(FaultCampaign("kills-\(number)"), reaching: 20)
        var left = stage.times(short: 2, full: 14)
        while left > 0, try await !world.hasEnded(campaign) {
          if try await fleet.killOne() { stage.fired(fault, duplicates: window) }
          left -= 1
          await stage.elapse(milliseconds: 300...1200)
        }
        try await stage.check(world, after: campaign)
      }
    }
  }

  static let random = kills("kill-random", fault: "SIGKILL at a random moment", reusesNames: false)
  static let sameName = kills("kill-same-name", fault: "SIGKILL, replaced under the same name", reusesNames: true)

  static let alone = FaultCase(
    "kill-alone", faults: ["SIGKILL of one worker, the others live"],
    invariant: "other workers take over its slices within 12 s", bound: "window × kills"
  ) { stage in
    let world = try await world(stage)
    let fleet = try await Fleet(stage, world, size: 3)
    var left = stage.times(short: 1, full: 40)
    while left > 0 {
      let campaign = try await world.submit(FaultCampaign("alone-\(left)"), reaching: 20)
      while left > 0, try await !world.hasEnded(campaign) {
        if try await fleet.killOne() {
          stage.fired("SIGKILL of one worker, the others live", duplicates: window)
        }
        left -= 1
        try await until("what it held is taken over") { await world.takeovers.waiting == 0 }
        // A pause, so that the next victim holds a slice.
        await stage.elapse(milliseconds: 300...1000)
      }
      try await stage.check(world, after: campaign)
    }
    let slow = await world.takeovers.times.filter { $0 > .seconds(12) }
    stage.expect(slow.isEmpty, "\(slow.count) slices were taken over after more than 12 s")
  }

  static let silence = FaultCase(
    "kill-in-silence", faults: ["SIGKILL while Redis is silent"],
    invariant: "at most a window is sent while Redis is unavailable", bound: "window × kills"
  ) { stage in
    // While Redis is silent, fast answers arrive but can't be recorded. So a worker that respects its window soon runs
    // out of credit.
    let window = 20
    let world = try await stage.world {
      $0.partitions = 8
      $0.window = window
      $0.devices = 6000
      $0.simulator = ["--latency", "30ms"]
    }
    let fleet = try await Fleet(stage, world, size: 3)
    for number in 1...stage.times(short: 1, full: 4) {
      let campaign = try await world.submit(FaultCampaign("silence-\(number)"))
      for round in 1...stage.times(short: 1, full: 3) {
        try await world.reached(round * 500, of: campaign)
        await world.server.kill(SIGSTOP)
        await elapse(.milliseconds(700))
        let victims = fleet.workers.filter { $0.process.exit == nil }
        for victim in victims { victim.process.send(signal: SIGKILL) }
        // Redis must run again before the wait for the ends of the workers: that wait includes a request for the slices
        // that they held.
        await world.server.kill(SIGCONT)
        for victim in victims where await victim.ended() == .signal(SIGKILL) {
          stage.fired("SIGKILL while Redis is silent", duplicates: window)
        }
        try await fleet.refill()
      }
      try await stage.check(world, after: campaign)
    }
  }

  static let allWorkers = FaultCase(
    "kill-all", faults: ["SIGKILL of all workers at the same time"],
    invariant: "every target has one outcome", bound: "window × workers killed"
  ) { stage in
    let world = try await world(stage)
    let fleet = try await Fleet(stage, world, size: 3)
    let campaign = try await world.submit(FaultCampaign("all"))
    for round in 1...stage.times(short: 1, full: 4) {
      try await world.reached(round * 60, of: campaign)
      let fired = try await fleet.killAll()
      stage.fired("SIGKILL of all workers at the same time", times: fired, duplicates: window * fired)
    }
    try await stage.check(world, after: campaign)
  }

  // MARK: Named moments

  /// The moments of `CARILLON_FAULT_KILL`. The worker dies when it reaches the moment for the nth time; n is chosen at
  /// random from the range.
  private static let passes: [(moment: String, passes: ClosedRange<Int>)] = [
    ("activated", 1...1), ("claimed", 1...6), ("sealed", 1...6), ("granted", 1...12), ("sent", 1...12),
    ("answered", 1...150), ("committed", 1...12), ("closed", 1...4),
  ]

  static let moments = passes.map { moment, passes in
    let fault = "SIGKILL at moment \(moment)"
    return FaultCase(
      "kill-\(moment)", faults: [fault],
      invariant: "every target has one outcome; the slices of dead workers are taken over",
      bound: "window × kills"
    ) { stage in
      // With this short latency, the worker that takes over soon has room in its window for the dead worker's slices.
      let world = try await world(stage, devices: 2000, latency: "100ms")
      for number in 1...stage.times(short: 1, full: 3) {
        // Several workers die. Only at the moment `activated` one worker dies, because a job is activated once. This
        // worker must be alone, so that it gets the job.
        var victims: [WorkerProcess] = []
        for life in 1...(moment == "activated" ? 1 : stage.times(short: 1, full: 3)) {
          let environment = ["CARILLON_FAULT_KILL": "\(moment):\(stage.random(passes))"]
          victims.append(try await world.worker("victim-\(number)-\(life)", environment: environment))
        }
        let campaign = try await world.submit(FaultCampaign("\(moment)-\(number)"))
        if moment == "activated" { await victims[0].ended() }
        let heir = try await world.worker("heir-\(number)")
        try await world.ended(campaign)
        for victim in victims {
          if victim.process.exit == .signal(SIGKILL) {
            stage.fired(fault, duplicates: window)
          } else {
            // The worker never reached the moment. It must stop, so that the next round has only its own victims.
            stage.expect(await victim.terminate() == .status(0), "\(victim.name) did not stop: \(victim.lastWords)")
          }
        }
        try await stage.check(world)
        stage.expect(await heir.terminate() == .status(0), "\(heir.name) did not stop: \(heir.lastWords)")
      }
    }
  }
}
