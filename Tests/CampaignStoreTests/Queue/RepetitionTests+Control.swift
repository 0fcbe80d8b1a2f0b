@testable import CampaignStore
import APNs
import PushCore
import Redis
import Synchronization
import TestKit
import TestSupport
import Testing

/// Commands to a recurring campaign before, during and after its first run, while callers and workers are killed.
extension RepetitionTests {
  /// State of a recurring campaign when it is controlled.
  enum Moment: CaseIterable {
    case beforeItsFirstRun
    /// The run has begun, and no worker has taken it in.
    case runRequested
    case duringItsFirstRun, afterItsFirstRun
  }

  /// Makes a campaign whose runs have stages.
  private func makeWorld(at moment: Moment, for verb: ControlVerb? = nil) async throws -> TestStore {
    let world = try await TestStore(on: .single, partitions: 1, users: 0..<4)
    try await activate(world, "", #","stages":[{"share":0.5}]"#)
    if moment != .beforeItsFirstRun {
      try await letPass(world)
      expect(try await world.store.queue.promote(["digest"]).count, is: 1)
    }
    if moment == .duringItsFirstRun || moment == .afterItsFirstRun {
      let isApproved = verb == .approve && moment == .duringItsFirstRun
      try await takeIn(world, approval: isApproved ? "it is large" : nil)
    }
    if moment == .afterItsFirstRun {
      let run = try #require(try await world.store.campaigns.find("digest")?.repetition?.lastRun)
      try await world.store.campaigns.control(run, .cancel)
      let slice = SliceReference(campaign: run + "~1", partition: 0)
      _ = try await world.store.slices.finish(slice, adding: [], lane: .normal, worker: "w")
      expect(try await world.store.campaigns.find(run)?.times.finishedAt != nil)
    }
    if verb == .resume { expect(try await world.store.campaigns.control("digest", .pause), is: .paused) }
    return world
  }

  /// Returns the states of the recurring campaign, of its run and of the run's stages.
  private func states(_ world: TestStore) async throws -> [CampaignState] {
    let record = try #require(try await world.store.campaigns.find("digest"))
    guard let last = record.repetition?.lastRun, let run = try await world.store.campaigns.find(last) else {
      return [record.state]
    }
    return [record.state, run.state] + run.parts.map(\.state)
  }

  private func problems(_ world: TestStore) async throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    _ = try await world.store.repair.check(pause: .zero) { findings += $0 }
    return findings
  }

  /// Carries out the command of a person.
  private func carryOut(_ verb: ControlVerb, _ world: TestStore) async throws {
    do {
      switch verb {
      case .approve: _ = try await world.store.campaigns.approve("digest", by: "grace")
      case .resume: _ = try await world.store.campaigns.resume("digest", unguarded: false, by: "grace")
      default: _ = try await world.store.campaigns.controlEverywhere("digest", verb, by: "grace", lease: 1000)
      }
    } catch let error as StoreError where error.code == .unapproved {
      // Only a run needs approval, and a repeated command finds it approved.
    }
  }

  /// Expected states after a command, and after the take-in of a run that was requested before.
  private func expected(after verb: ControlVerb, at moment: Moment) -> [CampaignState] {
    let lead: CampaignState = verb == .pause ? .paused : verb == .cancel ? .cancelled : .scheduled
    switch moment {
    case .beforeItsFirstRun: return [lead]
    case .afterItsFirstRun: return [lead, .cancelled, .cancelled, .cancelled]
    case .runRequested, .duringItsFirstRun:
      return [lead] + (lead == .scheduled ? [.active, .active, .waiting] : [lead, lead, lead])
    }
  }

  /// The caller is killed before one of its steps; the test tries every step. Then either both the campaign and its run
  /// have changed or neither has, and the repeated command has the same result as one without a kill.
  @Test(arguments: Moment.allCases, [ControlVerb.pause, .resume, .cancel, .approve])
  func controlIsOneStepForACampaignAndItsRun(moment: Moment, verb: ControlVerb) async throws {
    var (step, isLeft) = (0, true)
    while isLeft {
      let world = try await makeWorld(at: moment, for: verb)
      let place: Comment = "\(verb) \(moment), killed before step \(step)"
      let before = try await states(world)
      isLeft = try await KilledCaller.dies(before: step) { try await carryOut(verb, world) }
      let killed = try await states(world)
      expect(try await problems(world), is: [], place)
      try await carryOut(verb, world)
      let after = try await states(world)
      expect(killed == after || isLeft && killed == before, place)
      if moment == .runRequested { try await takeIn(world) }
      expect(try await states(world), is: expected(after: verb, at: moment), place)
      expect(try await problems(world), is: [], place)
      step += 1
    }
    expect(step > 1)
  }

  /// Begins the final run of a campaign.
  private func beginFinalRun(_ world: TestStore) async throws {
    try await activate(world, #","count":1"#)
    try await letPass(world)
    expect(try await world.store.queue.promote(["digest"]).count, is: 1)
  }

  /// A command between the beginning of the final run and its take-in applies to the run.
  @Test(arguments: [ControlVerb.pause, .cancel])
  func controlReachesAFinalRunThatIsNotTakenIn(verb: ControlVerb) async throws {
    let world = try await TestStore(on: .single, partitions: 1, users: 0..<4)
    try await beginFinalRun(world)
    let state: CampaignState = verb == .pause ? .paused : .cancelled
    expect(try await world.store.campaigns.control("digest", verb), is: state)
    let run = try await takeIn(world).id
    expect(try await states(world), is: [state, state])
    // The campaign ends with the resume, and the run continues.
    if verb == .pause {
      expect(try await world.store.campaigns.control("digest", .resume), is: .completed)
      expect(try await world.store.campaigns.find(run)?.state, is: .active)
    }
    expect(try await problems(world), is: [])
  }

  /// A command to a recurring campaign that has ended applies to its runs that have not ended.
  @Test func controlReachesTheFinalRunAfterItsCampaignHasEnded() async throws {
    let world = try await TestStore(on: .single, partitions: 1, users: 0..<4)
    try await beginFinalRun(world)
    _ = try await takeIn(world)
    expect(try await world.store.queue.promote(["digest"]), is: [])
    expect(try await states(world), is: [.completed, .active])
    try await carryOut(.pause, world)
    expect(try await states(world), is: [.completed, .paused])
    try await carryOut(.resume, world)
    expect(try await states(world), is: [.completed, .active])
    try await carryOut(.cancel, world)
    expect(try await states(world), is: [.completed, .cancelled])
    expect(try await problems(world), is: [])
  }

  /// Begins a run with the given time and takes it in; returns its id, or `nil` if it was skipped.
  private func beginRun(_ time: String, _ world: TestStore, approval: String? = nil) async throws -> String? {
    try await letPass(world)
    let (record, job) = try #require(try await world.store.campaigns.findWithJob("digest"))
    let repetition = try #require(
      try record.campaign(job, record.apps(in: TestStore.services)).delivery.timing.repetition)
    let next = Repetition.Run(begins: 4_000_000_000, wall: 4_000_000_000)
    guard try await world.store.queue.advance(record, to: next, beginning: "digest~" + time, repetition) else {
      return nil
    }
    return try await takeIn(world, approval: approval).id
  }

  /// An approval of the campaign applies to a run that waits for it, also if a later run needs none.
  @Test func approvalReachesAnEarlierRun() async throws {
    let world = try await TestStore(on: .single, partitions: 1, users: 0..<4)
    try await activate(world)
    let run = try #require(try await beginRun("20261201T1000", world, approval: "it is large"))
    _ = try await beginRun("20261201T1100", world)
    expect(try await world.store.campaigns.find(run)?.state, is: .paused)
    expect(try await world.store.campaigns.approvable("digest").id, is: run)
    expect(try await world.store.campaigns.approve("digest", by: "grace"), is: .active)
    expect(try await world.store.campaigns.find(run)?.approval.approvedBy, is: "grace")
    await #expect(throws: StoreError.self) { try await world.store.campaigns.approve("digest", by: "grace") }
  }

  /// A command to a campaign applies to all of its runs that overlap. A run that has ended leaves the list.
  @Test func controlReachesEveryRunThatHasNotEnded() async throws {
    let world = try await TestStore(on: .single, partitions: 1, users: 0..<4)
    try await activate(world)
    var runs: [String] = []
    for hour in 10...13 { runs.append(try #require(try await beginRun("20261201T\(hour)00", world))) }
    func states() async throws -> [CampaignState] {
      var states: [CampaignState] = []
      for id in runs { states.append(try #require(try await world.store.campaigns.find(id)).state) }
      return states
    }
    try await carryOut(.pause, world)
    expect(try await states(), is: [.paused, .paused, .paused, .paused])
    try await carryOut(.resume, world)
    expect(try await states(), is: [.active, .active, .active, .active])
    // The second run ends.
    try await world.store.campaigns.control(runs[1], .cancel)
    let slice = SliceReference(campaign: runs[1], partition: 0)
    _ = try await world.store.slices.finish(slice, adding: [], lane: .normal, worker: "w")
    runs.append(try #require(try await beginRun("20261201T1400", world)))
    expect(
      try await world.store.campaigns.find("digest")?.repetition?.openRuns, is: [runs[0], runs[2], runs[3]])
    try await carryOut(.cancel, world)
    expect(try await states(), is: [.cancelled, .cancelled, .cancelled, .cancelled, .cancelled])
    expect(try await problems(world), is: [])
  }

  /// A resume also resumes a run that the guard has paused, and reports each pause that it ends.
  @Test func resumeNamesWhatItResumes() async throws {
    let world = try await TestStore(on: .single, partitions: 1, users: 0..<4)
    try await activate(world)
    var runs: [String] = []
    for hour in 10...12 { runs.append(try #require(try await beginRun("20261201T\(hour)00", world))) }
    let campaigns = world.store.campaigns
    try await campaigns.control(runs[0], .pause, reason: "half of the answers were Unregistered")
    _ = try await campaigns.controlEverywhere(
      runs[1], .pause, by: "ada", lease: 1)
    let first = try await campaigns.resume("digest", unguarded: false, by: "grace")
    expect(first.state, is: .scheduled)
    expect(
      first.resumed,
      is: [
        ResumedCampaign(id: runs[0], reason: "half of the answers were Unregistered"),
        ResumedCampaign(id: runs[1], reason: nil),
      ])
    _ = try await campaigns.controlEverywhere("digest", .pause, reason: "wrong text", by: "ada", lease: 1)
    let second = try await campaigns.resume("digest", unguarded: false, by: "grace")
    expect(second.resumed.map(\.id) == ["digest"] + runs && second.resumed.allSatisfy { $0.reason == "wrong text" })
    expect(try await campaigns.resume("digest", unguarded: false, by: "grace").resumed, is: [])
  }

  /// A further run is skipped while 100 runs have not ended.
  @Test func runIsSkippedWhileTooManyAreOpen() async throws {
    let world = try await TestStore(on: .single, partitions: 1, users: 0..<1)
    try await activate(world)
    for run in 0...Queue.maximumOpenRuns {
      let time = "202612\(1 + run / 60 < 10 ? "0" : "")\(1 + run / 60)T10\(run % 60 < 10 ? "0" : "")\(run % 60)"
      expect(try await beginRun(time, world) != nil)
    }
    expect(try await beginRun("20261211T1000", world), is: nil)
    let record = try #require(try await world.store.campaigns.find("digest"))
    expect(record.repetition?.leftOut == 1 && record.repetition?.openRuns.count == Queue.maximumOpenRuns)
    try await carryOut(.cancel, world)
    for run in record.repetition?.unfinishedRuns ?? [] {
      expect(try await world.store.campaigns.find(run)?.state, is: .cancelled)
    }
  }

  /// A worker begins a run and takes it in before one of the steps of a command. The test tries every step.
  @Test(arguments: [ControlVerb.pause, .cancel])
  func runThatBeginsDuringACommandFollowsIt(verb: ControlVerb) async throws {
    var (step, isLeft) = (0, true)
    while isLeft {
      let world = try await makeWorld(at: .beforeItsFirstRun)
      try await letPass(world)
      let left = Mutex(step)
      try await StoreSteps.$beforeEach.withValue({
        let isNow = left.withLock { left in
          left -= 1
          return left == -1
        }
        guard isNow else { return }
        try await StoreSteps.$beforeEach.withValue(nil) {
          if try await world.store.queue.promote(["digest"]).count == 1 { try await takeIn(world) }
        }
      }) { try await carryOut(verb, world) }
      isLeft = left.withLock { $0 < 0 }
      expect(Set(try await states(world)), is: [verb == .pause ? .paused : .cancelled], "before step \(step)")
      expect(try await problems(world), is: [], "before step \(step)")
      step += 1
    }
    expect(step > 2)
  }

  /// A worker is killed before one of the steps in which it begins a run and takes it in. The test tries every step. A
  /// person may act before another worker continues.
  @Test(arguments: [nil, ControlVerb.pause, .cancel])
  func killedWorkerBeginsARunOnce(verb: ControlVerb?) async throws {
    var (step, isLeft) = (0, true)
    while isLeft {
      let world = try await makeWorld(at: .beforeItsFirstRun)
      try await letPass(world)
      isLeft = try await KilledCaller.dies(before: step) { try await work(world) }
      if let verb { try await carryOut(verb, world) }
      for _ in 0..<2 { try await work(world) }
      let place: Comment = "\(verb.map { "\($0)" } ?? "no command"), killed before step \(step)"
      let record = try #require(try await world.store.campaigns.find("digest"))
      let states = try await states(world)
      expect(record.repetition?.isPending == false && record.repetition?.runs == (states.count > 1 ? 1 : 0), place)
      if let verb {
        expect(Set(states), is: [verb == .pause ? .paused : .cancelled], place)
      } else {
        expect(states, is: expected(after: .resume, at: .duringItsFirstRun), place)
      }
      expect(try await problems(world), is: [], place)
      step += 1
    }
    expect(step > 6)
  }

  /// Begins the run that is due and takes in a request, as a worker does after the death of another one.
  private func work(_ world: TestStore) async throws {
    let queue = world.store.queue
    _ = try await queue.promote(["digest"])
    var request = try await queue.unfinishedJob(worker: "w")
    if request == nil, try await !jobs(world).isEmpty {
      request = try await queue.awaitJob(worker: "w", seconds: 1, now: 1)
    }
    guard let request, let id = RunRequest.id(request) else { return }
    guard let job = try await queue.job(ofRun: id) else { return try await queue.dismissRun(request, worker: "w") }
    let campaign = try CampaignJob.parse(job, .any([APNsService()]), as: id)
    _ = try await queue.activate(campaign, job: job, request: request, worker: "w")
  }
}
