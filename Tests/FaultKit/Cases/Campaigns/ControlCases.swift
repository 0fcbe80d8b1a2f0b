import Foundation
import Glibc
import TestSupport

/// Workers die while operators give commands or while workers' clocks are wrong.
enum ControlCases {
  static let all = [cancelled, paused, clock]

  private static let window = 50

  private static func world(_ stage: Stage) async throws -> FaultWorld {
    try await stage.world {
      $0.partitions = 32
      $0.window = window
      $0.devices = stage.times(short: 1000, full: 3000)
      $0.simulator = ["--latency", "200ms"]
    }
  }

  static let cancelled = FaultCase(
    "cancel-and-kill", faults: ["cancel racing a SIGKILL"],
    invariant: "answered targets keep their outcome; targets in doubt become unknown; the rest is cancelled",
    bound: "window × kills"
  ) { stage in
    let world = try await world(stage)
    let fleet = try await Fleet(stage, world, size: 3)
    for number in 1...stage.times(short: 1, full: 10) {
      let id = "cancel-\(number)"
      var campaign = FaultCampaign(id) { $0.end = "cancelled" }
      try await world.submit(
        job: CarillonWorld.job(
          id, app: campaign.app, audience: campaign.audience, content: campaign.content))
      try await world.reached(stage.random(20...600), of: campaign)
      async let cancelling = world.succeed("campaign", "cancel", id)
      await stage.elapse(milliseconds: 0...250)
      let isKilled = try await fleet.killOne()
      do {
        _ = try await cancelling
        if isKilled { stage.fired("cancel racing a SIGKILL", duplicates: window) }
      } catch {
        // The campaign had ended before the command ran, so no race occurred.
        guard try await world.hasEnded(campaign) else { throw error }
        campaign.end = "completed"
      }
      world.expect(campaign)
      try await stage.check(world, after: campaign)
    }
  }

  static let paused = FaultCase(
    "pause-and-kill", faults: ["pause and resume around a SIGKILL"],
    invariant: "a paused campaign sends at most one more window a worker; after the resume it continues",
    bound: "window × kills"
  ) { stage in
    let world = try await world(stage)
    let fleet = try await Fleet(stage, world, size: 3)
    for number in 1...stage.times(short: 1, full: 4) {
      let campaign = try await world.submit(FaultCampaign("pause-\(number)"))
      // Each death follows a resume, with the same targets in flight. After a fourth death, a target that was in flight
      // at each of them would count as a poison target (`Bisection/threshold`).
      for round in 1...stage.times(short: 1, full: 3) {
        try await world.reached(round * 100, of: campaign)
        if try await world.hasEnded(campaign) { break }
        try await world.succeed("campaign", "pause", campaign.id)
        let sent = try world.requestCount()
        if try await fleet.killOne() { stage.fired("pause and resume around a SIGKILL", duplicates: window) }
        await stage.elapse(milliseconds: 500...2500)
        let more = try world.requestCount() - sent
        stage.expect(more <= 3 * window, "\(more) were sent after the pause")
        try await world.succeed("campaign", "resume", campaign.id)
      }
      try await stage.check(world, after: campaign)
    }
  }

  static let clock = FaultCase(
    "clock-off", faults: ["a worker's clock an hour ahead", "a worker's clock an hour behind"],
    invariant: "leases, retries and credentials do not depend on the clocks of workers", bound: "window × kills"
  ) { stage in
    let library = try ClockShift.library()
    let world = try await world(stage)
    for number in 1...stage.times(short: 1, full: 4) {
      var workers = [try await world.worker("right-\(number)")]
      for (name, offset) in [("ahead", "3600"), ("behind", "-3600")] {
        let environment = ["LD_PRELOAD": library, "CLOCK_SHIFT_SECONDS": offset]
        let worker = try await world.worker("\(name)-\(number)", environment: environment)
        workers.append(worker)
      }
      let campaign = try await world.submit(FaultCampaign("clock-\(number)"), reaching: stage.random(100...500))
      // Each worker has started with its own clock, as its log shows.
      let clocks = try workers.map { try $0.firstTime() }
      for (name, other, sign) in [("ahead", 1, 1.0), ("behind", 2, -1.0)] {
        let offset = clocks[other].timeIntervalSince(clocks[0]) * sign
        if (3000...4200).contains(offset) { stage.fired("a worker's clock an hour \(name)") }
      }
      // The worker with the right clock dies. Those with wrong clocks take over, and one of them dies too.
      if let wrong = stage.random(of: Array(workers.dropFirst())) {
        for victim in [workers[0], wrong] {
          if await world.kill(victim) { stage.allow(duplicates: window) }
        }
      }
      try await stage.check(world, after: campaign)
      for worker in world.workers {
        stage.expect(await worker.terminate() == .status(0), "\(worker.name) did not stop")
      }
    }
  }
}
