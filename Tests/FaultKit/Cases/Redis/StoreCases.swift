import CampaignStore
import Glibc
import TestSupport

/// The whole store is changed while workers run.
enum StoreCases {
  static let all = [repartition]

  private static let window = 50
  private static let commandDies = "SIGKILL of carillon store repartition"
  private static let workerDies = "SIGKILL of a worker beside it"

  /// Two campaigns reach all devices: the one that runs at the start of the repartition, and the one that waits for its
  /// end.
  static let repartition = FaultCase(
    "repartition", faults: [commandDies, workerDies],
    invariant: "every target has one outcome before and after; every device stays; waiting jobs start without help",
    bound: "window × kills of workers"
  ) { stage in
    let world = try await stage.world {
      $0.partitions = 8
      $0.adoptsPartitions = true
      $0.window = window
      $0.devices = stage.times(short: 1000, full: 4000)
      $0.simulator = ["--latency", "200ms"]
    }
    for number in 0..<3 { try await world.worker("w\(number)") }
    var partitions = world.options.partitions
    for round in 1...stage.times(short: 1, full: 5) {
      partitions = min(1000, partitions * stage.random(2...5) + stage.random(0...3))
      let (before, after) = (FaultCampaign("before-\(round)"), FaultCampaign("after-\(round)"))
      try await world.submit(before)
      try await world.reached(20, of: before)
      var kills = 0
      while true {
        let command = try await world.start("store", "repartition", String(partitions), "--yes", "--json")
        if kills == 0 {
          _ = await command.errorLine(containing: "\"event\":\"waiting\"")
          try await world.push(after)
          if let victim = stage.random(of: world.workers), await world.kill(victim) {
            stage.fired(workerDies, duplicates: window)
            // The worker may have to wait until the store is consistent again.
            try await world.worker("r\(round)", waits: false)
          }
        }
        kills += 1
        // Only the last command is not killed. A command waits for at least five seconds before it moves keys, so a
        // kill hits the wait or the move.
        guard kills <= stage.times(short: 1, full: 3) else {
          let exit = await command.waitForExit()
          stage.require(exit == .status(0), "store repartition \(partitions): \(exit)")
          break
        }
        await stage.elapse(milliseconds: 2000...6500)
        command.send(signal: SIGKILL)
        if await command.waitForExit() == .signal(SIGKILL) { stage.fired(commandDies) }
      }
      try await world.adoptPartitions()
      stage.expect(
        world.store.keys.partitions == partitions, "it has \(world.store.keys.partitions), not \(partitions)")
      for campaign in [before, after] { try await world.ended(campaign) }
      let devices = try await world.countDevices()
      stage.expect(devices == world.options.devices, "\(devices) devices are left")
      try await stage.check(world)
    }
  }
}
