import Glibc
import TestSupport

/// Workers that get SIGTERM.
enum TerminationCases {
  static let all = [graceful, hurried]

  static let graceful = FaultCase(
    "sigterm", faults: ["SIGTERM in mid-slice"],
    invariant: "exit 0; nothing in doubt; nothing sent twice", bound: "0"
  ) { stage in
    let world = try await stage.world {
      $0.window = 100
      $0.devices = stage.times(short: 1000, full: 6000)
      $0.simulator = ["--latency", "100ms"]
    }
    var (left, number) = (stage.times(short: 1, full: 50), 0)
    var worker = try await world.worker("t0")
    while left > 0 {
      number += 1
      let campaign = try await world.submit(FaultCampaign("term-\(number)"), reaching: 20)
      while left > 0, try await !world.hasEnded(campaign) {
        await stage.elapse(milliseconds: 100...600)
        if try await world.hasEnded(campaign) { break }
        // The next worker starts before the old one stops, so it can take over immediately.
        let next = try await world.worker("t\(number)-\(left)")
        let exit = await worker.terminate()
        stage.expect(exit == .status(0), "\(worker.name) ended with \(exit): \(worker.lastWords)")
        stage.fired("SIGTERM in mid-slice")
        worker = next
        left -= 1
      }
      try await stage.check(world, after: campaign)
    }
  }

  static let hurried = FaultCase(
    "sigterm-twice", faults: ["second SIGTERM"],
    invariant: "the worker ends immediately; pushes in flight are in doubt, and the next owner resolves them",
    bound: "window × stops"
  ) { stage in
    let world = try await stage.world {
      $0.devices = stage.times(short: 400, full: 2000)
      // The latency is longer than a worker waits for answers after its second SIGTERM.
      $0.simulator = ["--latency", "9s"]
    }
    let campaign = FaultCampaign("hurry") { $0.ambiguity = .resend }
    try await world.submit(campaign)
    for number in 1...stage.times(short: 1, full: 10) {
      let before = try world.requestCount()
      let worker = try await world.worker("hurried\(number)")
      try await until("pushes are on their way") { try world.requestCount() > before }
      worker.process.send(signal: SIGTERM)
      try await worker.hears("draining")
      let asked = ContinuousClock.now
      let exit = await worker.terminate()
      stage.expect(exit == .status(0), "\(worker.name) ended with \(exit): \(worker.lastWords)")
      stage.expect(ContinuousClock.now - asked < .seconds(5), "\(worker.name) took more than 5 s")
      stage.fired("second SIGTERM", duplicates: world.options.window)
    }
    try await world.simulator.setLatency(milliseconds: 0)
    try await world.worker("unhurried")
    try await stage.check(world, after: campaign)
  }
}
