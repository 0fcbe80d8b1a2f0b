import Glibc
import TestSupport

/// Workers that die of SIGKILL, whenever.
enum KillCases {
  static let all = [random, sameName, smallWindow, everybody] + moments

  private static let window = 50

  private static func world(_ stage: Stage, window: Int = window) async throws -> FaultWorld {
    try await stage.world {
      // Slices of more than a window.
      $0.partitions = window < Self.window ? 8 : 32
      $0.window = window
      $0.devices = window < Self.window ? 6000 : stage.times(short: 1000, full: 4000)
      // With a small window that is recorded as fast as it is answered, more than a window waits to be recorded wherever
      // the window is not kept.
      $0.simulator = ["--latency", window < Self.window ? "5ms" : "200ms"]
      $0.timesTakeovers = true
    }
  }

  private static func kills(_ name: String, fault: String, reusesNames: Bool, window: Int = window) -> FaultCase {
    FaultCase(
      name, faults: [fault], invariant: "every target has one outcome; what died is taken over",
      bound: "window × kills"
    ) { stage in
      let world = try await world(stage, window: window)
      let fleet = try await Fleet(stage, world, size: 3, reusesNames: reusesNames)
      for number in 1...stage.times(short: 1, full: 6) {
        let campaign = FaultCampaign("kills-\(number)")
        try await world.submit(campaign)
        try await world.reached(20, of: campaign)
        var left = stage.times(short: 2, full: 14)
        while left > 0, try await !world.hasEnded(campaign) {
          if try await fleet.killOne() { stage.fired(fault, duplicates: window) }
          left -= 1
          await stage.elapse(milliseconds: 300...1200)
        }
        try await world.ended(campaign)
        try await stage.check(world)
      }
    }
  }

  static let random = kills("kill-random", fault: "SIGKILL at a random moment", reusesNames: false)
  static let sameName = kills("kill-same-name", fault: "SIGKILL, replaced under the same name", reusesNames: true)

  static let smallWindow = kills(
    "kill-small-window", fault: "SIGKILL with a window of 10", reusesNames: false, window: 10)

  static let everybody = FaultCase(
    "kill-everybody", faults: ["SIGKILL of all workers at once"],
    invariant: "every target has one outcome", bound: "window × workers killed"
  ) { stage in
    let world = try await world(stage)
    let fleet = try await Fleet(stage, world, size: 3)
    let campaign = FaultCampaign("everybody")
    try await world.submit(campaign)
    for round in 1...stage.times(short: 1, full: 4) {
      try await world.reached(round * 60, of: campaign)
      let fired = try await fleet.killAll()
      stage.fired("SIGKILL of all workers at once", times: fired, duplicates: window * fired)
    }
    try await world.ended(campaign)
    try await stage.check(world)
  }

  // MARK: Named moments

  /// The moments of `CARILLON_FAULT_KILL`, each with the passes among which one is chosen.
  private static let passes: [(moment: String, passes: ClosedRange<Int>)] = [
    ("activated", 1...1), ("claimed", 1...6), ("sealed", 1...6), ("granted", 1...12), ("sent", 1...12),
    ("answered", 1...150), ("committed", 1...12), ("closed", 1...4),
  ]

  static let moments = passes.map { moment, passes in
    let fault = "SIGKILL at moment \(moment)"
    return FaultCase(
      "kill-\(moment)", faults: [fault], invariant: "every target has one outcome; what died is taken over",
      bound: "window × kills"
    ) { stage in
      let world = try await world(stage)
      for number in 1...stage.times(short: 1, full: 3) {
        // Several die in turn. A job is taken in once, so there only one can die of it, and it must be alone to get it.
        var victims: [WorkerProcess] = []
        for life in 1...(moment == "activated" ? 1 : stage.times(short: 1, full: 3)) {
          let environment = ["CARILLON_FAULT_KILL": "\(moment):\(stage.random(passes))"]
          victims.append(try await world.worker("victim-\(number)-\(life)", environment: environment))
        }
        let campaign = FaultCampaign("\(moment)-\(number)")
        try await world.submit(campaign)
        if moment == "activated" { await victims[0].ended() }
        let heir = try await world.worker("heir-\(number)")
        try await world.ended(campaign)
        for victim in victims {
          if victim.process.exit == .signal(SIGKILL) {
            stage.fired(fault, duplicates: window)
          } else {
            // It never came to that moment: it goes, so that the next round has victims of its own.
            stage.expect(await victim.terminate() == .status(0), "\(victim.name) did not stop: \(victim.lastWords)")
          }
        }
        try await stage.check(world)
        stage.expect(await heir.terminate() == .status(0), "\(heir.name) did not stop: \(heir.lastWords)")
      }
    }
  }
}
