import APNs
@testable import CampaignStore
import PushCore
import PushTransport
import Testing

@testable import PushWorker

/// The parts of the control plane, without Redis, sockets or time.
@Suite struct ControlPartsTests {
  private func slice(_ partition: Int) -> SliceReference { SliceReference(campaign: "a", partition: partition) }

  // MARK: Own references and prunes

  @Test func onlyWhatIsListedTwiceInARowIsLeftOver() {
    let references = OwnReferences()
    let leftovers = [
      references.leftovers(listed: [slice(1), slice(2)], taken: [slice(1)]),
      references.leftovers(listed: [slice(2), slice(3)], taken: []),
      references.leftovers(listed: [slice(3)], taken: [slice(3)]),
    ]
    #expect(leftovers == [[], [slice(2)], []])
  }

  @Test func prunesAreDeliveredTogether() {
    var prunes = UndeliveredPrunes()
    for partition in 0..<63 { prunes.insert(partition) }
    prunes.insert(3)
    #expect(!prunes.isDue)
    prunes.insert(63)
    #expect(prunes.isDue)
  }

  // MARK: Slices that dead workers left

  @Test func slicesThatWereLeftAreSoughtOneCampaignAfterTheOther() {
    var left = LeftSlices()
    let other = SliceReference(campaign: "b", partition: 2)
    for slice in [slice(1), other, slice(3), slice(1), slice(4)] { left.note(slice, at: 1) }
    #expect(left.next(1) { _ in false } == [slice(1), slice(3), slice(4)])
    #expect(left.next(1) { $0 == "a" } == [other])
    // Others have the first of them.
    left.note([slice(1), slice(3), slice(4)], found: slice(3))
    #expect(left.next(1) { _ in false } == [other])
    #expect(left.next(1) { $0 == "b" } == [slice(4)])
    left.noteTaken([slice(4), slice(9)])
    left.note([other], found: nil)
    #expect(left.isEmpty(1))
  }

  @Test func slicesThatWereLeftAreForgottenAfterAWhileAndBounded() {
    var left = LeftSlices()
    left.note(slice(1), at: 1)
    #expect(!left.isEmpty(LeftSlices.memory))
    #expect(left.isEmpty(1 + LeftSlices.memory))
    #expect(left.next(1 + LeftSlices.memory) { _ in false } == [])
    for number in 2..<500 { left.note(slice(number), at: 1 + LeftSlices.memory) }
    #expect(left.next(2 + LeftSlices.memory) { _ in false } == (2..<(2 + LeftSlices.most)).map(slice))
  }

  // MARK: Housekeeping

  @Test func everyPartitionIsLookedAtInTurn() {
    let housekeeping = HousekeepingLease()
    let looks = (0..<20).map { _ in housekeeping.nextPartitions(of: 10) }
    #expect(looks.flatMap(\.partitions) == Array(0..<10) + Array(0..<10))
    #expect(looks.filter(\.isRare).flatMap(\.partitions) == [0, 8, 0, 8])
  }

  /// A round takes as long whatever their number.
  @Test func ofManyPartitionsSeveralAreLookedAtTogether() {
    let housekeeping = HousekeepingLease()
    let looks = (0..<256).map { _ in housekeeping.nextPartitions(of: 16_384) }
    #expect(looks.flatMap(\.partitions) == Array(0..<16_384))
    #expect(looks.count(where: \.isRare) == 32)
  }

  @Test func nextHousekeeperGoesOnWhereTheLastOneStood() {
    let (first, second) = (HousekeepingLease(), HousekeepingLease())
    _ = first.begin(HousekeepingNotes())
    for _ in 0..<3 { _ = first.nextPartitions(of: 10) }
    let became = [second.begin(first.notes), second.begin(HousekeepingNotes())]
    #expect(became == [true, false])
    let next = second.nextPartitions(of: 10)
    #expect(next.partitions == [3])
  }

  @Test func roundsGoOnOnceASecondAndBeatsAreMissedSooner() {
    let housekeeping = HousekeepingLease()
    let second: UInt64 = 1_000_000_000
    let rounds = [0, 1, second / 2, second, 2 * second].map { housekeeping.isSweepDue($0) }
    #expect(rounds == [true, false, false, true, true])
    housekeeping.heard(5 * second, next: 250)
    #expect(housekeeping.untilMissing(5 * second) == 700)
    #expect(housekeeping.untilMissing(6 * second) == 0)
    // Nobody waits longer than for the slowest beat there is.
    for next in [4000, 9_999_999] {
      housekeeping.heard(7 * second, next: next)
      #expect(housekeeping.untilMissing(7 * second) == 8200)
    }
    // And not for the beat where a heartbeat has said that nobody keeps house.
    housekeeping.heardOfNone()
    #expect(housekeeping.untilMissing(7 * second) == 0)
  }

  /// ms until the next of each beat that is given to a fleet without campaigns; `nil` for each look without one.
  private func idleBeats(_ housekeeping: HousekeepingLease, looks: Int, fleet: Int) -> [Int?] {
    (0..<looks).map { _ in
      let beat = housekeeping.untilIdleBeat(fleet: fleet)
      _ = housekeeping.begin(HousekeepingNotes())
      if let beat { housekeeping.gaveIdleBeat(next: beat) }
      _ = housekeeping.looksAround()
      return beat
    }
  }

  @Test func fleetWithoutCampaignsIsGivenABeatWithEachFourthLook() {
    let housekeeping = HousekeepingLease()
    let beats = idleBeats(housekeeping, looks: 8, fleet: 16)
    #expect(beats == [1000, nil, nil, nil, 1000, nil, nil, nil])
  }

  @Test func largerFleetIsGivenFewerBeats() {
    let between = [1, 16, 40, 60, 500].map { fleet in
      let housekeeping = HousekeepingLease()
      return idleBeats(housekeeping, looks: 40, fleet: fleet).compactMap(\.self).dropFirst().first
    }
    #expect(between == [1000, 1000, 2500, 3750, 4000])
  }

  @Test func whoeverBeginsToKeepHouseGivesABeatAtOnce() {
    let housekeeping = HousekeepingLease()
    _ = idleBeats(housekeeping, looks: 3, fleet: 500)
    housekeeping.end(1)
    let beat = housekeeping.untilIdleBeat(fleet: 500)
    #expect(beat == 4000)
  }

  /// Of the beats that a fleet without campaigns is given, the next may be four seconds away.
  @Test func whoHasSlicesInHandMissesABeatAsSoonAsOnesOfARunningCampaignAreMissing() {
    let housekeeping = HousekeepingLease()
    let second: UInt64 = 1_000_000_000
    housekeeping.heard(5 * second, next: 4000)
    let isSooner = [6, 7].map { housekeeping.noteBusy($0 * second) }
    #expect(isSooner == [true, false])
    #expect(housekeeping.untilMissing(6 * second) == 700)
    housekeeping.noteIdle()
    #expect(housekeeping.untilMissing(6 * second) == 7200)
    // With beats of a running campaign nothing changes.
    housekeeping.heard(8 * second, next: 250)
    let isSoonerStill = housekeeping.noteBusy(8 * second)
    #expect(!isSoonerStill)
    #expect(housekeeping.untilMissing(8 * second) == 700)
  }

  /// The one before it, whose process has ended, waits for no further look.
  @Test func nextHousekeeperLooksAroundAtOnceAndThenWithEverySecondLook() {
    var (housekeeping, watch) = (HousekeepingLease(), LivenessMonitor())
    let looks = (0..<2).map { _ in watch.look([sight("before", at: 7)]).map(\.name) }
    #expect(looks == [[], ["before"]])
    _ = housekeeping.begin(HousekeepingNotes())
    let around = (0..<4).map { _ in housekeeping.looksAround() }
    #expect(around == [true, false, true, false])
    let gone = watch.look([sight("before", at: 7), sight("well", listens: true, at: 7)])
    #expect(gone.map(\.name) == ["before"])
    // And again, when it has the house once more.
    _ = housekeeping.looksAround()
    housekeeping.end(1)
    _ = housekeeping.begin(HousekeepingNotes())
    let again = housekeeping.looksAround()
    #expect(again)
  }

  // MARK: Presence

  private func sight(_ name: String, _ nonce: String = "a", listens: Bool = false, at heartbeat: Int) -> PresenceSight {
    PresenceSight(instance: WorkerInstance(name: name, nonce: nonce), isListening: listens, heartbeat: heartbeat)
  }

  @Test func goneIsWhoWasNotThereTwiceAndGaveNoHeartbeatMeanwhile() {
    var watch = LivenessMonitor()
    let gone = [
      watch.look([sight("dead", at: 7), sight("slow", at: 7), sight("well", listens: true, at: 7)]),
      watch.look([sight("dead", at: 7), sight("slow", at: 8), sight("well", at: 7)]),
      watch.look([sight("slow", at: 9), sight("well", listens: true, at: 7)]),
      watch.look([sight("slow", at: 9), sight("well", at: 7)]),
    ]
    #expect(gone.map { $0.map(\.name) } == [[], ["dead"], [], ["slow"]])
  }

  @Test func anotherLifeOfANameIsAnother() {
    var watch = LivenessMonitor()
    let gone = [watch.look([sight("w", "a", at: 7)]), watch.look([sight("w", "b", at: 7)])]
    #expect(gone == [[], []])
    watch.forget()
    let again = watch.look([sight("w", "b", at: 7)])
    #expect(again.isEmpty)
  }

  // MARK: Who looks

  @Test func ofAFleetAFewLookForEachSlice() {
    let looking = { (slices: Int, fleet: Int) in
      (0..<fleet).count { WakeRule.looks(for: slices, roll: $0) }
    }
    #expect([looking(1, 3), looking(1, 500), looking(10, 500), looking(256, 500)] == [3, 4, 40, 500])
    #expect(looking(.max, 500) == 500)
  }

  @Test func ofAFleetAFewWaitForJobs() {
    let waiting = { (fleet: Int) in (0..<fleet).count { WakeRule.waitsForJobs(roll: $0) } }
    #expect([waiting(1), waiting(16), waiting(500)] == [1, 16, 16])
  }

  // MARK: Campaigns that wait

  @Test func whatGoesOnAgainIsSaidOnce() {
    var reports = WaitingReports()
    let changes = [
      reports.update([("a", "away", 5)]), reports.update([("b", "slow", 7)]), reports.update([]), reports.update([]),
    ]
    #expect(
      changes == [
        [.waits(id: "a", reason: "away", since: 5)],
        [.waits(id: "b", reason: "slow", since: 7), .goesOn(id: "a")], [.goesOn(id: "b")], [],
      ])
  }

  // MARK: Campaign control

  @Test func resumedCampaignIsToldOfOnceARound() {
    let campaigns = CampaignTable()
    let told = [0, 1, 1, 2, 1].map { campaigns.noteRound($0, of: "a") }
    #expect(told == [false, true, false, true, true])
    // Nothing of it was in hand: somebody else's business.
    let isNews = campaigns.note(.paused, of: "a", at: 0)
    #expect(!isNews)
  }

  @Test func otherConnectionsToRedisAreNoticed() {
    var failover = FailoverReplay()
    let noticed = [[1, 1], [1, 1], [2, 1], [2, 2], [2, 2]].map { failover.noteConnections(["a": $0]) }
    #expect(noticed == [false, false, true, true, false])
    // Another server of a cluster takes nothing away.
    let others = [["a": [2, 2], "b": [3, 3]], ["b": [3, 3]], ["a": [4, 2], "b": [3, 3]]]
      .map { failover.noteConnections($0) }
    #expect(others == [false, false, true])
  }

  @Test func whatPeopleDidIsRememberedForAsLongAsRedisMayForgetIt() {
    let campaigns = CampaignTable()
    campaigns.note(.paused, of: "a", at: 0)
    campaigns.note(.cancelled, of: "b", at: 1_000_000_000)
    campaigns.note(.active, of: "c", at: 1_000_000_000)
    #expect(campaigns.recent.map(\.id).sorted() == ["a", "b"])
    #expect(campaigns.recent.first { $0.id == "b" }?.verb == .cancel)
    // Seen again, it is no newer.
    campaigns.note(.paused, of: "a", at: 3_000_000_000)
    campaigns.forget(before: 3_500_000_000)
    #expect(campaigns.recent.map(\.id) == ["b"])
    campaigns.note(.active, of: "b", at: 3_600_000_000)
    #expect(campaigns.recent.isEmpty)
  }

  @Test func epochIsFollowedOnce() {
    let campaigns = CampaignTable()
    let isNews = [campaigns.sync(0), campaigns.sync(0), campaigns.sync(3)]
    #expect(isNews == [true, false, true])
    #expect(campaigns.epoch == 3)
  }

  @Test func campaignIsPausedOnceAtATime() {
    let campaigns = CampaignTable()
    var begins = [campaigns.beginPause("a"), campaigns.beginPause("a")]
    campaigns.endPause("a")
    begins.append(campaigns.beginPause("a"))
    #expect(begins == [true, false, true])
  }

  // MARK: Failover

  @Test func anotherServerThanBeforeIsNoticedOnEitherConnection() {
    var failover = FailoverReplay()
    // While two answers differ it is changing, and is looked at again.
    let looks = [("one", "one"), ("one", "one"), ("two", "one"), ("two", "two"), ("two", "two")]
    let findings = looks.map { failover.look(["a": $0], ["a": $1]) }
    let (same, changed) = (Finding(same: ["a"]), Finding(changed: ["a"]))
    #expect(findings == [Finding(isFirst: true), same, changed, changed, same])
  }

  @Test func eachServerOfAClusterIsJudgedByItself() {
    var failover = FailoverReplay()
    func look(_ servers: [String: String]) -> Finding { failover.look(servers, servers) }
    #expect(look(["a": "1", "b": "2"]) == Finding(isFirst: true))
    #expect(look(["a": "1", "b": "3"]) == Finding(same: ["a"], changed: ["b"]))
    // One that does not answer is remembered; a replica that took over is nobody we know.
    #expect(look(["b": "3", "c": "9"]) == Finding(same: ["b"], changed: ["c"]))
    #expect(look(["a": "1", "b": "3", "c": "9"]) == Finding(same: ["a", "b", "c"]))
    #expect(failover.look(["a": "1"], ["a": "1", "b": "4"]) == Finding(same: ["a"], changed: ["b"]))
  }

  private typealias Finding = FailoverReplay.Finding

  @Test func graceEndsAndClaimsAreSparedForALease() {
    var failover = FailoverReplay()
    #expect(!failover.isInGrace(0))
    failover.beginGrace(1_000_000_000, lease: 6_000_000_000)
    #expect(failover.isInGrace(3_999_999_999))
    #expect(!failover.isInGrace(4_000_000_000))
    #expect(failover.takeoverGrace(2_000_000_000) == 5000)
    #expect(failover.takeoverGrace(9_000_000_000) == 0)
  }

  @Test func whoStoodStillTellsAfterTheOthersAndBeforeTheyGoOn() {
    let second: UInt64 = 1_000_000_000
    var failover = FailoverReplay()
    failover.noteRunning(second)
    failover.noteRunning(4 * second)
    failover.beginGrace(4 * second, lease: 6 * second)
    // Three seconds are no more than it remembers.
    #expect(failover.delay(4 * second) == 0)
    failover.noteRunning(8 * second)
    // Nothing was forgotten: there is nothing to wait for.
    #expect(failover.delay(8 * second) == 0)
    failover.beginGrace(8 * second, lease: 6 * second)
    #expect(failover.delay(8 * second) == FailoverReplay.grace / 2)
    #expect(failover.delay(9 * second) == FailoverReplay.grace / 2 - second)
    #expect(failover.delay(9 * second + FailoverReplay.grace / 2) == 0)
    // Redis forgets once more.
    failover.noteRunning(10 * second)
    failover.beginGrace(10 * second, lease: 6 * second)
    #expect(failover.delay(10 * second) == FailoverReplay.grace / 2)
    // By now it knows what there is to know.
    failover.noteRunning(11 * second)
    failover.beginGrace(11 * second, lease: 6 * second)
    #expect(failover.delay(11 * second) == 0)
  }

  @Test func whatIsBeingToldAgainIsNotForgotten() {
    var failover = FailoverReplay()
    var begins = [failover.begin()]
    failover.mustRun { _ in true }
    var forgets = [failover.forget(before: 0, clock: 4) { _ in true }]
    // Once it is under way it is not begun again.
    begins += [failover.begin(), failover.begin()]
    forgets.append(failover.forget(before: 0, clock: 4) { _ in true })
    failover.end()
    forgets.append(failover.forget(before: 0, clock: 5) { _ in true })
    #expect(begins == [false, true, false])
    #expect(forgets == [false, false, true])
    #expect(failover.seenDurableAt == 5)
  }

  // MARK: The open guard of a fleet

  @Test func workersDoTogetherWhatWouldTripOneGuardBeforeTheFleetHears() {
    let policy = GuardPolicy(threshold: 0.1, pruneShare: 0.5, minimum: 200)
    for (fleet, suspects, gone) in [(2, 10, 50), (10, 2, 10), (500, 1, 1)] {
      for (outcome, limit) in [(Outcome.badToken, suspects), (.unregistered, gone)] {
        var watch = GuardReports()
        for _ in 0..<1000 { watch.count(.accepted, policy, fleet: fleet) }
        for _ in 0..<limit { watch.count(outcome, policy, fleet: fleet) }
        #expect(watch.mayAct(policy, fleet: fleet))
        watch.count(outcome, policy, fleet: fleet)
        #expect(!watch.mayAct(policy, fleet: fleet), "\(fleet) workers, \(outcome)")
      }
    }
  }

  @Test func loneWorkerAsksNobody() {
    var watch = GuardReports()
    let policy = GuardPolicy()
    for _ in 0..<1000 { watch.count(.badToken, policy, fleet: 1) }
    #expect(watch.mayAct(policy, fleet: 1))
    let news = watch.next(1_000_000_000)
    #expect(news == nil && !watch.isDue)
  }

  @Test func reportTellsOfAllBeforeItAndNoMore() {
    var watch = GuardReports()
    let policy = GuardPolicy(minimum: 10)
    watch.count(.accepted, policy, fleet: 2)
    let nothing = watch.next(1_000_000_000)
    #expect(nothing == nil, "only acceptances are no news")
    watch.count(.badToken, policy, fleet: 2)
    let first = watch.report
    let news = watch.next(1_000_000_000)
    #expect(news == GuardCounts(answers: 2, suspects: 1))
    watch.count(.badToken, policy, fleet: 2)
    let second = watch.report
    #expect(second == first + 1)
    let whileReporting = watch.next(2_000_000_000)
    let told = watch.arrived()
    #expect(whileReporting == nil && told == first)
    let tooSoon = watch.next(1_010_000_000)
    #expect(tooSoon == nil && watch.isDue)
    _ = watch.next(2_000_000_000)
    // Nobody knows whether it has arrived: it is made again, under its number.
    watch.failed()
    #expect(watch.report == second)
    let again = watch.next(3_000_000_000)
    #expect(again == GuardCounts(answers: 1, suspects: 1))
    _ = watch.arrived()
    for _ in 0..<1000 { watch.count(.accepted, policy, fleet: 2) }
    watch.count(.unregistered, policy, fleet: 2)
    let last = watch.next(4_000_000_000)
    #expect(last?.gone == 1 && last?.answers ?? .max <= 10, "good answers of long ago hide nothing")
  }

  /// However many answers there were between two reports: a fast worker tells of no larger share than a slow one.
  @Test(arguments: [100, 1000, 100_000]) func reportTellsOfTheShareThereIs(answers: Int) throws {
    var watch = GuardReports()
    let policy = GuardPolicy()
    for number in 1...answers {
      let outcome: Outcome = number % 50 == 0 ? .badToken : number % 20 == 0 ? .unregistered : .accepted
      watch.count(outcome, policy, fleet: 2)
    }
    let report = watch.next(1_000_000_000)
    let news = try #require(report)
    #expect(news.answers <= policy.minimum)
    #expect((0...0.03).contains(Double(news.suspects) / Double(news.answers)))
    #expect((0...0.06).contains(Double(news.gone) / Double(news.answers)))
    // Each bad answer waits for the report all the same.
    #expect(!watch.mayAct(policy, fleet: 2) || answers == 100)
  }

  // MARK: Objections

  @Test func objectionHoldsForItsRoundAndIsRaisedOnce() {
    var objections = Objections()
    let raised = [
      objections.raise("a", round: 0, reason: "r", remedy: "", at: 1),
      objections.raise("a", round: 0, reason: "s", remedy: "", at: 2),
    ]
    #expect(raised == [true, false])
    #expect(objections.raised["a"] == .init(round: 0, reason: "r", remedy: "", since: 1))
    #expect(objections.applies(to: "a", round: 0))
    // Resumed: it is to be tried again, and may be objected to again.
    #expect(!objections.applies(to: "a", round: 1))
    let again = objections.raise("a", round: 1, reason: "r", remedy: "", at: 3)
    #expect(again && objections.campaigns == ["a"])
    let dropped = [objections.drop("a"), objections.drop("a")]
    #expect(dropped == [true, false])
  }

  // MARK: Jobs

  @Test func jobBecomesACampaignOrGoesToTheDeadListWithTheReason() throws {
    let apps = JobApps.known(["news": APNsService(AppTraits(topic: "com.example.news"))])
    let job = #"{"id":"a","app":"news","audience":{"segment":"*"},"payload":{"aps":{"alert":"hi"}}}"#
    guard case .activate(let campaign, untimely: nil) = Intake(Array(job.utf8), apps, now: 0) else {
      Issue.record("it is a valid job")
      return
    }
    #expect(campaign.id == "a")
    #expect(Intake(campaign, .new) == nil)
    #expect(Intake(campaign, .duplicate) == nil)
    #expect(
      Intake(campaign, .conflict)
        == .deadLetter(reason: "id: a was used for another job", hint: "give the job an id of its own"))
    guard case .deadLetter(let reason, _) = Intake(Array("{".utf8), apps, now: 0) else {
      Issue.record("it is no job")
      return
    }
    #expect(reason.contains("JSON"))
    #expect(Intake(StoreError(.full, "full", hint: "")) == nil, "no fault of the job")
    #expect(
      Intake(StoreError(.invalid, "no such segment", hint: "h")) == .deadLetter(reason: "no such segment", hint: "h"))
  }

  // MARK: Life

  @Test func workerStopsOnce() {
    var life = WorkerLife()
    #expect(!life.isStopping)
    let stops = [life.stop(), life.stop()]
    #expect(stops == [true, false])
    life.finish()
    #expect(life.isFinished && !life.hasEnded)
    life.end()
    #expect(life.hasEnded)
    life.finish()
    #expect(life.hasEnded)
  }

  /// Answers that came while the process stood still are read before their pushes are called in doubt.
  @Test func processThatStoodStillReadsWhatHasCome() {
    #expect(WorkerLife.grace(after: .milliseconds(10_020), of: .seconds(10)) == .zero)
    #expect(WorkerLife.grace(after: .seconds(18), of: .seconds(10)) == .seconds(1))
    #expect(WorkerLife.grace(after: .seconds(3), of: .zero) == .seconds(1))
  }
}

/// What a worker knows of itself, of the rates it is held against, and of what is yet to be expanded.
@Suite struct WorkerPartsTests {
  @Test func nobodyIsTakenForDeadByWhoHearsNothingOrJustAfterRedisWasAway() {
    var chance = SystemRandomNumberGenerator()
    let membership = FleetMembership(WorkerInstance(name: "w", using: &chance))
    #expect(!membership.canTellTheDead(10))
    membership.isListening = true
    #expect(membership.canTellTheDead(10))
    membership.expectOthers(by: 20)
    #expect(!membership.canTellTheDead(19))
    #expect(membership.canTellTheDead(20))
  }

  @Test func silenceCountsFromTheLastSignOfLifeThatRedisTook() {
    var chance = SystemRandomNumberGenerator()
    let membership = FleetMembership(WorkerInstance(name: "w", using: &chance))
    #expect(membership.silence(5) == nil)
    membership.noteHeartbeat(at: 10)
    membership.noteFailedHeartbeat("Redis is away")
    #expect(membership.silence(25) == 15)
    #expect(membership.heartbeatError == "Redis is away")
    membership.noteHeartbeat(at: 30)
    #expect(membership.silence(29) == 0, "a clock that was read before")
    #expect(membership.heartbeatError == nil)
  }

  @Test func backendIsAskedAtItsPaceAndNotTwiceAtATime() {
    var schedule = BackendSchedule()
    let backend = AppBackend(
      check: HealthCheck(url: "http://x", slowAfter: 500), interval: 1000, rate: 10, leastShare: 0.1)
    // "news" hangs from its first look on, which holds up no other.
    let whileItHangs = [
      schedule.begin("news", backend, 0), schedule.begin("news", backend, 5_000_000_000),
      schedule.begin("shop", backend, 0),
    ]
    #expect(whileItHangs == [true, false, true])
    schedule.end("shop")
    let afterwards = [
      schedule.begin("shop", backend, 999_999_999), schedule.begin("shop", backend, 1_000_000_000),
      schedule.begin("news", backend, 5_000_000_000),
    ]
    #expect(afterwards == [false, true, false])
    schedule.end("news")
    let isAskedAgain = schedule.begin("news", backend, 5_000_000_000)
    #expect(isAskedAgain)
  }

  @Test func slicesThatWereExpandedLatelySayHowLargeOneIs() {
    var expansion = ExpansionEstimate()
    #expect(expansion.targetsPerSlice == nil)
    expansion.noteExpanded(targets: 0)
    #expect(expansion.targetsPerSlice == 1)
    for _ in 0..<256 { expansion.noteExpanded(targets: 100) }
    for _ in 0..<512 { expansion.noteExpanded(targets: 10) }
    #expect(expansion.targetsPerSlice ?? 100 < 40, "what was long ago counts less")
  }
}
