import APNs
import CampaignStore
import EventLoop
import PushCore

/// Following what people, other workers and time do to the slices in hand.
extension PushWorker {
  /// Every few ms: outcomes that have waited long enough, leases to renew, retries that are due, credentials that were
  /// stopped.
  func tick() {
    followCredentials()
    wakeSlices(takingMore: false)
  }

  /// Wakes the slices that have something to do, higher lanes first.
  ///
  /// - Parameter takingMore: whether to look for further slices, where there is room: not without a reason, they are
  ///   looked for regularly.
  func wakeSlices(takingMore: Bool = true) {
    let now = EventLoop.now
    followProbes(now)
    var ready = 0
    for lane in Lane.allCases.indices {
      for run in slots {
        guard let run, run.isReady, run.context.lane == lane else { continue }
        if nextStep(of: run, now: now) != .wait { run.wake() }
        ready += run.count - run.granted
      }
    }
    if takingMore, ready < configuration.window { wakeClaims() }
  }

  /// Reads the states of the campaigns in hand, in one call, follows them, and says so.
  func followSteering() async throws {
    while true {
      let ids = Array(campaignsInHand.union(contexts.keys))
      let view = try await control.follow(ids, worker: configuration.name, followed: followedEpoch)
      for ((id, state), round) in zip(zip(ids, view.states), view.rounds) {
        note(state, of: id)
        // Paused and resumed between two looks.
        let held = slots.compactMap { $0?.context }.filter { $0.campaign.id == id } + [contexts[id]].compactMap { $0 }
        for context in held where context.round < round && !context.isOutdated { leaveRound(of: context) }
        for run in slots.compactMap({ $0 }) where run.ledger.slice.campaign == id && run.intent != .lost {
          switch state {
          case .cancelled: withdraw(run, .cancel)
          // Gone: Redis has forgotten that it was ever taken in, and somebody will take it in once more.
          case .paused, .failed, nil: withdraw(run, .leave)
          default: break
          }
        }
        if state != .active { contexts[id] = nil }
      }
      // What came into our hands meanwhile is looked at before we say that we have followed.
      guard campaignsInHand.isSubset(of: ids) else { continue }
      if view.epoch == followedEpoch { break }
      followedEpoch = view.epoch
      // A campaign may have been scheduled again.
      wakePulse()
    }
    wakeSlices()
  }

  private var campaignsInHand: Set<String> { Set(slots.compactMap { $0?.ledger.slice.campaign }) }

  /// Begins scheduled campaigns whose time has come.
  func begin(_ scheduled: [String]) async throws {
    tell(begun: try await control.promote(scheduled, narrowing: !isRestoring))
  }

  private func tell(begun campaigns: [String]) {
    for campaign in campaigns { observer(.begun(campaign: campaign)) }
    if !campaigns.isEmpty { wakeClaims() }
  }

  /// Gives a slice back as soon as what is under way has been answered.
  func giveBack(_ run: SliceRun) {
    withdraw(run, .leave)
  }

  /// Stops sending for a slice: what no connection has taken is settled, what is under way is waited for.
  func withdraw(_ run: SliceRun, _ intent: SliceSituation.Intent) {
    guard run.intent != intent, run.intent != .lost, run.intent != .cancel else { return }
    run.intent = intent
    let base = run.tagBase
    takeBack(run, run.context.pool.cancelBacklog { $0 & ~0xffff_ffff == base })
    run.wake()
  }

  /// The deadline of a stop has passed: whatever is unanswered or can't be recorded stays in doubt in the ledger.
  func abandonUnanswered() {
    isAbandoning = true
    for run in slots.compactMap({ $0 }) {
      run.unanswered = 0
      run.wake()
    }
  }

  /// Gives back what silent workers hold, and what is left in our own name without our knowing.
  func rescue(_ pulse: CampaignStore.Pulse) async throws {
    try await control.unpark(pulse.due, worker: configuration.name)
    for silent in pulse.silent where silent != configuration.name {
      let rescued = try await control.rescue(from: silent)
      if !rescued.isEmpty { observer(.rescued(from: silent, slices: rescued.count)) }
      try await control.settle(dead: silent)
    }
    // An earlier life of our name, or a reply that was lost. A slice that is just being taken is in the list before it
    // is in `working`: nobody's is only what is there twice in a row.
    let unknown = Set(try await control.processing(of: configuration.name)).subtracting(working)
    let own = try await control.rescue(from: configuration.name, only: unknown.intersection(strays))
    strays = unknown
    if !own.isEmpty { observer(.rescued(from: configuration.name, slices: own.count)) }
    if !pulse.due.isEmpty || !pulse.silent.isEmpty || !own.isEmpty { wakeClaims() }
  }

  /// Looks after one partition at a time: prunes that nobody delivered, moves that nobody ended. Now and then, after
  /// references that got lost and campaigns that the schedule lost.
  func sweep() async throws {
    let partition = sweepPosition % control.keys.partitions
    sweepPosition = partition + 1
    undelivered.insert(partition)
    await deliverFeedback()
    _ = try await control.redoMoves(in: partition)
    guard partition % 8 == 0 else { return }
    if try await control.reopenLost() > 0 { wakeClaims() }
    let repaired = try await control.repairSchedule(from: schedulePosition, narrowing: !isRestoring)
    schedulePosition = repaired.next
    tell(begun: repaired.begun)
  }
}
