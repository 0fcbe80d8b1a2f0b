import CampaignStore
import Foundation
import Redis
import TestSupport

/// A recurring campaign while workers die. Each run starts once. A command to the recurring campaign also controls its
/// current run.
enum RecurringCases {
  static let all = [killed]

  private static let window = 50
  private static let fault = "SIGKILL around a run of a recurring campaign"
  private static let id = "digest"

  static let killed = FaultCase(
    "recurring-and-kill", faults: [fault],
    invariant: "each run begins once; pause, resume and cancel reach its stages; every target gets one push",
    bound: "window × kills"
  ) { stage in
    let world = try await stage.world {
      $0.partitions = 8
      $0.window = window
      $0.devices = stage.times(short: 600, full: 2000)
      $0.simulator = ["--latency", "200ms"]
    }
    let fleet = try await Fleet(stage, world, size: 3)
    func kill() async throws {
      if try await fleet.killOne() { stage.fired(fault, duplicates: window) }
    }
    // The schedule makes the campaign due only on 1 January. This case itself makes the runs due.
    let job = CarillonWorld.job(
      id, app: "news", audience: #"{"segment":"*"}"#, content: #""apns":{"payload":{"aps":{"alert":"hi"}}}"#,
      more: #","repeat":{"cron":"0 0 1 1 *"},"stages":[{"share":0.4,"wait":"1s"}]"#)
    try await world.submit(job: job)
    try await until("the campaign is scheduled") { try await world.store.campaigns.find(id)?.state == .scheduled }

    let first = try await beginRun(world, minutesAgo: 5, kill)
    try await world.reached(20, of: first)
    try await kill()
    try await world.succeed("campaign", "pause", id)
    try await kill()
    try await expectSilence(world, stage, "after the pause")
    try await world.succeed("campaign", "resume", id)
    try await kill()
    try await world.ended(first)
    world.expect(first)

    var second = try await beginRun(world, minutesAgo: 2, kill)
    second.end = "cancelled"
    try await world.reached(20, of: second)
    // The worker dies in the first stage, at the stage's gate, or while the rest of the users get the campaign.
    await stage.elapse(milliseconds: 0...1500)
    try await kill()
    try await world.succeed("campaign", "cancel", id)
    try await kill()
    let record = try await world.store.campaigns.find(id)
    // On a slow machine the run may end before the cancel. Both times come from Redis' clock.
    if let run = try await world.store.campaigns.find(second.id), run.state == .completed {
      let (ended, cancelled) = (run.times.finishedAt ?? .max, record?.times.finishedAt ?? 0)
      stage.require(ended <= cancelled, "run \(second.id) ended at \(ended), after the cancel at \(cancelled)")
      second.end = "completed"
    }
    try await world.ended(second)
    try await expectSilence(world, stage, "after the cancel")
    world.expect(second)

    stage.require(record?.state == .cancelled, "the recurring campaign is \(record?.state.rawValue ?? "gone")")
    stage.require(record?.repetition?.runs == 2, "it began \(record?.repetition?.runs ?? 0) runs")
    // If the ended campaign is put into the schedule again, it is removed and starts no run.
    try await world.redis.command("ZADD", world.store.keys.schedule, 1, id).get()
    try await until("the ended campaign leaves the schedule") {
      try await world.redis.command("ZSCORE", world.store.keys.schedule, id).get().isNull
    }
    let runs = try await world.store.campaigns.find(id)?.repetition?.runs
    stage.require(runs == 2, "it began \(runs ?? 0) runs, one of them after its cancel")
    try await stage.check(world)
  }

  /// Makes a run due while workers die, and waits until the run exists as a campaign.
  private static func beginRun(
    _ world: FaultWorld, minutesAgo: Int, _ kill: () async throws -> Void
  ) async throws -> FaultCampaign {
    let last = try await world.store.campaigns.find(id)?.repetition?.lastRun
    let due = (Int(Date().timeIntervalSince1970) - 60 * minutesAgo) * 1000
    try await kill()
    try await world.reschedule(id, to: due)
    try await kill()
    var run: String?
    try await until("the run is a campaign") {
      run = try await world.store.campaigns.find(id)?.repetition?.lastRun
      guard let run, run != last else { return false }
      return try await world.store.campaigns.find(run) != nil
    }
    return FaultCampaign(run ?? "")
  }

  /// Expects that no more pushes are sent.
  private static func expectSilence(_ world: FaultWorld, _ stage: Stage, _ when: String) async throws {
    // Pushes that are in flight now need up to 200 ms.
    await stage.elapse(milliseconds: 500...700)
    let sent = try world.requestCount()
    await stage.elapse(milliseconds: 1500...2000)
    let more = try world.requestCount() - sent
    stage.require(more == 0, "\(more) pushes were sent \(when)")
  }
}
