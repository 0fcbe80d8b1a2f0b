import Foundation
import Redis
import TestSupport

/// One world for hours: campaigns in succession, a fault every half minute, a check after every campaign, and memory
/// measurements.
public struct Soak: Sendable {
  /// Duration of the soak.
  public var duration: Duration
  /// Time between two faults.
  public var pace = Duration.seconds(30)
  private static let samplePace = Duration.seconds(10)

  /// - Parameter duration: duration of the soak.
  public init(duration: Duration) { self.duration = duration }

  /// Returns the soak as a case. It reports every fault and campaign immediately.
  public func fault(report: @escaping @Sendable (String) -> Void) -> FaultCase {
    FaultCase(
      "soak", faults: [], invariant: "nothing is lost; memory does not grow", bound: "the sum of what each fault allows"
    ) { stage in
      // The append-only file makes writes survive a kill of Redis. Results expire a minute after their campaign, so
      // that memory can be constant.
      let world = try await stage.world {
        $0.partitions = 32
        $0.devices = 3000
        $0.simulator = ["--latency", "100ms"]
        $0.redis = ["--appendonly", "yes", "--appendfsync", "everysec"]
        $0.timesTakeovers = true
      }
      // Faults never kill or freeze these two workers. Their memory must not grow.
      let elders = [try await world.worker("elder-1"), try await world.worker("elder-2")]
      let fleet = try await Fleet(stage, world, size: 2)
      var curves = elders.map { MemoryCurve(name: "worker \($0.name), resident") }
      curves += [MemoryCurve(name: "Redis, used memory"), MemoryCurve(name: "simulator, resident")]
      let began = ContinuousClock.now
      var (number, nextFault, nextSample) = (0, began + pace, began)
      while ContinuousClock.now - began < duration {
        number += 1
        let campaign = FaultCampaign("soak-\(number)") {
          $0.more["ttl"] = #""60s""#
          $0.ambiguity = number % 4 == 0 ? .skip : .resend
        }
        try await world.submit(campaign)
        while try await !world.hasEnded(campaign) {
          let now = ContinuousClock.now
          if now >= nextSample {
            try await sample(&curves, elders, world, (now - began) / .seconds(1))
            nextSample = now + Self.samplePace
          }
          // A fault starts only after the campaign has outcomes. Before that Redis may lose the job, and the producer
          // would have to submit it again.
          if now >= nextFault, try await world.recorded(of: campaign) > 20, let fault = stage.random(of: SoakFault.all)
          {
            nextFault = now + pace
            if let duplicates = try await fault.act(stage, fleet) { stage.fired(fault.name, duplicates: duplicates) }
            report("\(Int((now - began) / .seconds(1))) s: \(fault.name) during \(campaign.id)")
          }
          await elapse(.milliseconds(200))
          guard ContinuousClock.now - now < .seconds(180) else { break }
        }
        let violations = stage.report.violations.count
        try await stage.check(world)
        for violation in stage.report.violations.dropFirst(violations) { report("VIOLATION \(violation)") }
        stage.expect(elders.allSatisfy { $0.process.exit == nil }, "a worker died that was not killed")
      }
      for curve in curves {
        stage.addNote("memory \(curve.line)")
        // The simulator stores every id on purpose, in order to detect duplicates.
        stage.expect(curve.isFlat || curve.name.hasPrefix("simulator"), "memory grows: \(curve.line)")
      }
    }
  }

  private func sample(
    _ curves: inout [MemoryCurve], _ elders: [WorkerProcess], _ world: FaultWorld, _ seconds: Double
  ) async throws {
    var values = elders.map { Memory.resident($0.process.processIdentifier) }
    let info = try await world.redis.command("INFO", "memory").get().string ?? ""
    let used = info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("used_memory:") }
    values.append(used.flatMap { Int($0.split(separator: ":")[1]) }.map { $0 / 1024 })
    values.append(Memory.resident(world.simulator.process.processIdentifier))
    for (index, value) in values.enumerated() {
      if let value { curves[index].add(seconds: seconds, kilobytes: value) }
    }
  }
}
