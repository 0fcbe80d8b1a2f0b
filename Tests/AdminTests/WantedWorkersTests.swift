import Admin
@testable import CampaignStore
import PushCore
@testable import Redis
import TestKit
import TestSupport
import Testing

/// The recommended number of workers. By default, a worker sends 5,000 pushes a second and the remaining pushes must be
/// sent within a minute: 300,000 targets a worker.
struct WantedWorkersTests {
  /// Returns a fleet with one campaign.
  private func fleet(
    _ slices: Int, finished: Int = 0, targets: Int = 0, state: CampaignState = .active, _ more: [String: String] = [:]
  ) throws -> FleetSnapshot {
    var fleet = FleetSnapshot()
    fleet.at = 1_000_000_000
    fleet.running.campaigns = [try Self.campaign(slices, finished, targets, state, more)]
    return fleet
  }

  /// Returns a campaign from a hash with these fields, as Redis returns it.
  private static func campaign(
    _ slices: Int, _ finished: Int, _ targets: Int, _ state: CampaignState, _ more: [String: String]
  ) throws -> FleetSnapshot.RunningCampaign {
    let hash = [
      "state": state.rawValue, "slices": "\(slices)", "finished": "\(finished)", "targets": "\(targets)",
    ].merging(more) { $1 }
    let values = CampaignRecord.fields.map { hash[$0].map { "$\($0.utf8.count)\r\n\($0)\r\n" } ?? "$-1\r\n" }
    var parser = ReplyParser()
    try Array("*\(values.count)\r\n\(values.joined())".utf8).withUnsafeBytes { try parser.feed($0) }
    let root = try #require(try parser.next())
    let keys = try #require(Keyspace(namespace: "wanted", partitions: 8))
    let reply = RedisReply(arena: parser.take(), index: root)
    let record = try CampaignRecord(id: "a", StoredFields(.campaign("a", keys), CampaignRecord.fields, reply))
    return FleetSnapshot.RunningCampaign(record: try #require(record), openSlices: 0)
  }

  private static func worker(_ health: WorkerReport.Pool.Health, isAlive: Bool = true) -> FleetSnapshot.Worker {
    var report = WorkerReport()
    report.pools = [.init(endpoint: "https://a", open: 0, inFlight: 0, backlog: 0, failures: 9, health: health)]
    return FleetSnapshot.Worker(name: "ada", heartbeatAt: 1_000_000_000, isAlive: isAlive, report: report)
  }

  @Test func idleFleetNeedsNoWorkerAndADueCampaignNeedsOne() {
    var fleet = FleetSnapshot()
    expect(WantedWorkers(fleet).workers, is: 0)
    fleet.queues.intake.count = 3
    expect(WantedWorkers(fleet).workers, is: 1)
    fleet.queues.intake.count = 0
    fleet.at = 1_000_000
    fleet.queues.scheduled = FleetSnapshot.ScheduledWork(count: 1, next: fleet.at + 30_000)
    expect(WantedWorkers(fleet, seconds: 60).workers, is: 1)
    expect(WantedWorkers(fleet, seconds: 10).workers, is: 0)
  }

  @Test("the remaining work includes slices in progress; slices are as large as the finished ones")
  func wantedWorkersFollowRemainingTargets() throws {
    let wanted = WantedWorkers(try fleet(100, finished: 40, targets: 400_000))
    expect(wanted.remaining == 600_000 && wanted.workers == 2)
    expect(WantedWorkers(try fleet(100, finished: 39, targets: 390_000)).workers, is: 3)
    expect(WantedWorkers(try fleet(100, finished: 40, targets: 400_000), perSecond: 1000).workers, is: 10)
    expect(WantedWorkers(try fleet(100, finished: 40, targets: 400_000), seconds: 20).workers, is: 6)
    // No slice has ended yet, so the estimate is 10,000 targets a slice.
    expect(WantedWorkers(try fleet(90)).remaining, is: 900_000)
    expect(WantedWorkers(try fleet(100, finished: 100, targets: 400_000)).workers, is: 0)
    for state in [CampaignState.paused, .scheduled, .cancelled] {
      expect(WantedWorkers(try fleet(90, state: state)).workers, is: 0)
    }
    var two = try fleet(90)
    two.running.campaigns += two.running.campaigns
    expect(WantedWorkers(two).workers, is: 6)
  }

  @Test("the number does not exceed the number of slices")
  func slices() throws {
    let wanted = WantedWorkers(try fleet(20, finished: 16, targets: 16_000_000))
    expect(wanted.workers == 4 && wanted.remaining == 4_000_000 && wanted.reason == "one worker per remaining slice")
  }

  @Test("the number does not exceed what the rate can use, for each form of a rate")
  func rate() throws {
    expect(WantedWorkers(try fleet(180)).workers, is: 6)
    expect(WantedWorkers(try fleet(180, ["rate": "9999.5"])).workers, is: 2)
    expect(WantedWorkers(try fleet(180, ["rate": "0.5"])).workers, is: 1)
    expect(WantedWorkers(try fleet(180, ["rate": "1000000"])).workers, is: 6)
    // 1.8 million targets in two minutes are 15,000 a second, independent of the progress.
    expect(WantedWorkers(try fleet(180, ["spread": "120"])).workers, is: 3)
    expect(WantedWorkers(try fleet(180, finished: 90, targets: 900_000, ["spread": "120"])).workers, is: 3)
    expect(WantedWorkers(try fleet(180, ["spread": "7200"])).workers, is: 1)
    // Half a million targets in the remaining time.
    let now = 1_000_000_000
    expect(WantedWorkers(try fleet(50, ["finishBy": "\(now + 120_000)"])).workers, is: 1)
    expect(
      WantedWorkers(try fleet(100, finished: 50, targets: 500_000, ["finishBy": "\(now + 70_000)"])).workers, is: 2)
    expect(WantedWorkers(try fleet(180, ["finishBy": "\(now - 1)"])).workers, is: 6)
    // A campaign with a rate does not limit a campaign without one.
    var two = try fleet(180, ["rate": "100"])
    two.running.campaigns.append(try Self.campaign(180, 0, 0, .active, [:]))
    expect(WantedWorkers(two).workers, is: 7)
  }

  @Test("slices that wait for a retry need no worker until they are due")
  func parked() throws {
    var fleet = try fleet(180)
    fleet.queues.parked = FleetSnapshot.ScheduledWork(count: 120, next: fleet.at + 60_000)
    let wanted = WantedWorkers(fleet)
    expect(wanted.workers == 2 && wanted.remaining == 600_000)
    fleet.queues.parked.count = 178
    expect(WantedWorkers(fleet, perSecond: 10).workers, is: 2)
    fleet.queues.parked.count = 180
    let none = WantedWorkers(fleet)
    expect(none.workers == 1 && none.remaining == 0 && none.reason == "all remaining slices wait for retries")
    fleet.queues.parked.next = fleet.at - 1
    expect(WantedWorkers(fleet).workers, is: 6)
    // Slices of paused campaigns are parked too.
    fleet.queues.parked = FleetSnapshot.ScheduledWork(count: 1000, next: fleet.at + 60_000)
    expect(WantedWorkers(fleet).workers, is: 1)
  }

  @Test("the number does not change while a push service does not work")
  func stuckService() throws {
    for health in [WorkerReport.Pool.Health.unreachable, .unresponsive, .breakerOpen] {
      var fleet = try fleet(180)
      (fleet.presence.workers, fleet.presence.live) = ([Self.worker(health)], 2)
      let wanted = WantedWorkers(fleet)
      expect(wanted.workers == 2 && wanted.live == 2 && wanted.reason.contains("unchanged"), "\(health)")
      fleet.presence.live = 9
      expect(WantedWorkers(fleet).workers, is: 9)
      // No worker is running, so the fleet needs new ones.
      fleet.presence.live = 0
      expect(WantedWorkers(fleet).workers, is: 6)
      // If nothing is left to send, an open breaker does not keep workers.
      (fleet.presence.live, fleet.running.campaigns) = (9, [])
      expect(WantedWorkers(fleet).workers, is: 0)
    }
    // Reports of dead workers don't count, and more workers can't repair a credential.
    for worker in [
      Self.worker(.unreachable, isAlive: false), Self.worker(.credentialStopped), Self.worker(.ready),
    ] {
      var fleet = try fleet(180)
      (fleet.presence.workers, fleet.presence.live) = ([worker], 2)
      expect(WantedWorkers(fleet).workers, is: 6)
    }
  }
}
