import APNs
public import CampaignStore
public import EventLoop
import Dispatch
import PushCore

/// Pulls campaigns from the store, sends their pushes, records what became of them.
///
/// Any number of identical workers share the work; none is special. An actor on a queue of its own: per push it handles
/// plain values in batches, per slice and commit it suspends.
public actor PushWorker {
  let loop: EventLoop
  let configuration: WorkerConfiguration
  /// For commits and expansion.
  let store: CampaignStore
  /// For everything that may wait behind a large reply without slowing the commits.
  let control: CampaignStore
  /// For the blocking wait on the intake list.
  private let blocking: CampaignStore
  let observer: @Sendable (WorkerEvent) -> Void

  var budget: CreditBudget
  /// Pushes on their way whose slices have been let go of.
  var orphans = 0
  /// Slices in hand, by the slot in their tags.
  var slots: [SliceRun?] = []
  /// Slices taken, in hand or not yet.
  var working: Set<SliceReference> = []
  /// References in our list that we knew nothing of at the last sign of life.
  var strays: Set<SliceReference> = []
  /// Tells a slot's slices apart, for completions that come after their slice has gone.
  var generation: UInt16 = 0
  var contexts: [String: CampaignContext] = [:]
  var pools: [KnownPool] = []
  /// Tokens that APNs has rejected lately.
  var rejected = RejectedTokens()
  /// When each kind of trouble was last told of.
  private var reports: [String: Repetition] = [:]
  let inbox: CompletionInbox
  /// Pushes that came back unsent, while one lot of answers is handled.
  var unsent: [(run: SliceRun, index: Int)] = []
  /// Campaigns whose guard has decided, while one lot of answers is handled.
  var decided: [CampaignContext] = []
  /// Redis' clock less this machine's, in ms.
  var clockOffset = 0
  /// What has been done so far.
  public internal(set) var totals = WorkerTotals()
  private(set) var isStopping = false
  private var isFinished = false
  /// ``run()`` is about to return.
  private var hasEnded = false
  /// The deadline of the stop has passed.
  var isAbandoning = false
  private var stopWaiters: [CheckedContinuation<Void, Never>] = []
  /// The loops that wait for their time, or for a reason to look sooner.
  private var sleepers: [Sleeper: CheckedContinuation<Void, Never>] = [:]
  /// Something was scheduled or steered: the next sign of life is not to be waited for.
  private var isPulseWanted = false
  /// The epoch of steering up to which this worker has followed; `nil` before its first look.
  var followedEpoch: Int?
  /// Campaigns that are being paused on this worker's word.
  var pausing: Set<String> = []
  /// The partition whose leftovers are looked at next.
  var sweepPosition = 0
  /// Partitions of slices that have ended lately whose prunes others have yet to hear of.
  var undelivered: Set<Int> = []
  /// Slices let go of in the last seconds.
  var former: [FormerSlice] = []
  /// Campaigns that were paused or cancelled in the last seconds, and when we saw it.
  var steered: [String: (state: CampaignState?, at: UInt64)] = [:]
  /// Which server Redis last was, and of which line of writes.
  var server = ""
  /// `EventLoop.now` from which on slices are taken, after Redis may have forgotten something.
  var claimsResume: UInt64 = 0
  /// `EventLoop.now` from which on slices are taken over whose owners could not renew their leases meanwhile.
  var takeoversResume: UInt64 = 0
  /// When a server was last seen that we knew and that takes writes, in ms since the epoch.
  var seenDurableAt: UInt64 = 0
  /// Redis is yet to be told again of former slices.
  var mustReplayFormer = false
  var isReplayingFormer = false
  /// ms until the lanes are looked at again.
  private var claimInterval = PushWorker.claimIntervals.lowerBound
  /// How often the moment at which a test wants a death has come.
  var passes = 0
  /// Where in the list of all campaigns the schedule is compared with it next.
  var schedulePosition = 0

  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// Workers that live, this one among them.
  private var fleet = 1
  /// Slices that may be expanded at a time, by what was left of the campaign of which one was claimed last.
  private var preparable = 1

  /// Slices that one worker expands at a time at most: enough to have the next when one is sent.
  private static let maximumPreparable = 4

  /// Slices in hand at most: enough that the tail of one never idles the window, few enough to keep memory flat.
  static let maximumSlices = 16

  /// - Parameters:
  ///   - configuration: how it is set up.
  ///   - store: for commits and expansion; opened before.
  ///   - control: the same store over another client.
  ///   - blocking: the same store over a third one, which will be blocked most of the time.
  ///   - loop: where it lives; that of the clients of `store` and `control`, so that no thread is woken for a call.
  ///   - observer: told what is worth a line in the log; called on the worker's queue, must not block.
  public init(
    configuration: WorkerConfiguration, store: CampaignStore, control: CampaignStore, blocking: CampaignStore,
    loop: EventLoop = EventLoop(label: "worker"), observer: @escaping @Sendable (WorkerEvent) -> Void
  ) {
    self.configuration = configuration
    self.store = store.fenced()
    self.control = control.fenced()
    self.blocking = blocking
    self.observer = observer
    self.loop = loop
    budget = CreditBudget(window: configuration.window)
    inbox = CompletionInbox(loop: loop)
  }

  /// Works until ``stop(within:)`` or, when it drains, until no campaign is left.
  ///
  /// - Throws: what makes working impossible from the start: Redis out of reach, or unfit.
  public func run() async throws {
    inbox.onArrival { [weak self] in self?.assumeIsolated { $0.handleArrivals() } }
    try await measureClock()
    await checkServer()
    // Listed before anything is taken: others look for what a worker left behind only if it is.
    fleet = try await control.heartbeat(worker: configuration.name, silence: configuration.lease).workers
    let timer = LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.tick() } }
    timer.schedule(every: .milliseconds(SliceSituation.patience))
    observer(.started(name: configuration.name))
    await withDiscardingTaskGroup { group in
      group.addTask { await self.intakeLoop() }
      group.addTask { await self.pulseLoop() }
      group.addTask { await self.steeringLoop() }
      await claimLoop(&group)
      await waitForSlices()
      await deliverFeedback()
      isFinished = true
      wakePulse()
    }
    timer.disarm()
    reportConnections(isLast: true)
    await withDiscardingTaskGroup { group in
      for entry in pools { group.addTask { _ = await entry.pool.drain(deadline: 1_000_000_000) } }
    }
    try? await control.settle(dead: configuration.name)
    observer(.stopped(totals))
    hasEnded = true
    for waiter in stopWaiters { waiter.resume() }
    stopWaiters = []
  }

  /// Finishes what is in flight, records it, gives the rest back, and returns when ``run()`` is about to. Idempotent.
  ///
  /// - Parameter deadline: seconds for answers under way; what is unanswered then stays in doubt in the ledger.
  public func stop(within deadline: Int = 10) async {
    beginStop()
    guard !hasEnded else { return }
    let limit = Task {
      try await Task.sleep(for: .seconds(deadline))
      abandonUnanswered()
    }
    await withCheckedContinuation { stopWaiters.append($0) }
    limit.cancel()
  }

  func beginStop() {
    guard !isStopping else { return }
    isStopping = true
    observer(.draining)
    for run in slots.compactMap({ $0 }) { giveBack(run) }
    wakeClaims()
  }

  /// Tells of a failure that is tried again: many slices fail at once, and for as long as Redis is away.
  ///
  /// - Parameters:
  ///   - kind: failures of a kind are told of ever less often, see ``Repetition``.
  ///   - slice: which one failed.
  func report(_ kind: String, of slice: SliceReference? = nil, _ error: any Error) {
    report(kind, "\(kind)\(slice.map { " \($0)" } ?? ""): \(error)")
  }

  func report(_ kind: String, _ message: String) {
    guard let unsaid = reports[kind, default: Repetition()].note(EventLoop.now) else { return }
    observer(.trouble(message + (unsaid > 0 ? " (\(unsaid) more like it unsaid)" : "")))
  }

  /// ms since the epoch by Redis' clock.
  var now: UInt64 { UInt64(max(0, EventLoop.wallClock + clockOffset)) }

  func measureClock() async throws {
    clockOffset = try await control.time() / 1000 - EventLoop.wallClock
    for app in configuration.apps.values { app.credential.setOffset(Int64((Double(clockOffset) / 1000).rounded())) }
  }

  // MARK: Claiming

  /// Takes slices while there is room, then waits for a reason to look again.
  private func claimLoop(_ group: inout DiscardingTaskGroup) async {
    while !isStopping {
      do {
        let lanes = openLanes
        if !lanes.isEmpty, let slice = try await control.takeSlice(worker: configuration.name, lanes: lanes) {
          working.insert(slice)
          group.addTask { await self.work(on: slice) }
          continue
        }
        if configuration.drains, working.isEmpty, try await control.isIdle() { beginStop() }
      } catch {
        report("could not take a slice", error)
        await checkServer()
        // Whatever wakes this loop in between: what Redis refuses now it refuses in a few ms too.
        await pause(milliseconds: 100)
      }
      await waitForClaim()
    }
  }

  /// The lanes from which another slice would be welcome now.
  private var openLanes: ArraySlice<Lane> {
    if isRestoring { return [] }
    let all = slots.compactMap { $0 }.filter(\.isReady)
    // What waits for the end of a storm leaves room to others; no more is begun of it.
    let ready = all.filter { !$0.context.pool.isInStorm }
    let inHand = working.count - (all.count - ready.count)
    let remaining = ready.reduce(0) { $0 + $1.count - $1.granted }
    // What only waits for its campaign's guard to decide keeps nobody busy; the window bounds how many there are.
    let busy = inHand - ready.count { !$0.held.isEmpty && $0.unanswered == 0 && $0.granted == $0.count }
    // Twice the window ahead keeps the connections busy while further slices are expanded.
    if busy < Self.maximumSlices, inHand - ready.count < preparable, remaining < 2 * configuration.window {
      return Lane.allCases[...]
    }
    // A higher lane is let in whatever is in hand, up to as much again.
    guard busy < 2 * Self.maximumSlices, let lowest = ready.map(\.context.lane).max() else { return [] }
    return Lane.allCases.prefix(lowest)
  }

  /// Takes note of how much is left of a campaign. Half of a worker's share of it at a time: the tail is everybody's, and a
  /// fleet that is large beside the number of slices has work for all.
  func noteRest(of campaign: CampaignRecord) {
    let unfinished = campaign.slices.total - campaign.slices.finished
    let before = preparable
    preparable = fleet == 1 ? Self.maximumPreparable : max(1, min(unfinished / (2 * fleet), Self.maximumPreparable))
    if preparable > before { wakeClaims() }
  }

  /// ms between looks at the lanes when nothing says that there is something new: at first, and when long nothing was.
  static let claimIntervals = 50...400

  private func waitForClaim() async {
    await sleep(.claims, milliseconds: claimInterval)
    claimInterval = min(2 * claimInterval, Self.claimIntervals.upperBound)
  }

  /// Says that there may be something new.
  func wakeClaims() {
    claimInterval = Self.claimIntervals.lowerBound
    wake(.claims)
  }

  private func waitForSlices() async {
    while !working.isEmpty { await waitForClaim() }
  }

  // MARK: Intake

  /// Seconds that one wait for a job lasts; a stopping worker waits that long at most for its blocked connection.
  private static let intakeWait = 1

  private func intakeLoop() async {
    while !isStopping {
      do {
        try await control.checkRoom()
        var job = try await control.unfinishedJob(worker: configuration.name)
        if job == nil { job = try await blocking.awaitJob(worker: configuration.name, seconds: Self.intakeWait) }
        if let job { try await takeIn(job) }
      } catch let error as StoreError where error.code == .full {
        report("jobs stay in the queue", error)
        await pause(milliseconds: 1000)
      } catch {
        report("could not take in a job", error)
        await checkServer()
        await pause(milliseconds: 500)
      }
    }
  }

  /// Makes a campaign of a job, or buries it with the reason. Only failures of the way to Redis are thrown.
  private func takeIn(_ job: [UInt8]) async throws {
    do {
      let campaign = try CampaignJob.parse(job, knownApps: configuration.apps.mapValues(\.traits))
      switch try await control.activate(
        campaign, job: job, worker: configuration.name, narrowing: !isRestoring)
      {
      case .new:
        pass(.activated)
        observer(.activated(campaign: campaign.id))
        wakeClaims()
        if campaign.sendAt != nil { wakePulse() }
      case .duplicate: break
      case .conflict:
        try await bury(job, "id: \(campaign.id) was used for another job", "give the job an id of its own")
      }
    } catch let error as JobError {
      try await bury(job, error.reason, error.hint ?? "")
    } catch let error as StoreError where error.code == .invalid {
      try await bury(job, error.message, error.hint)
    }
  }

  private func bury(_ job: [UInt8], _ reason: String, _ hint: String) async throws {
    try await control.bury(job, reason: reason, hint: hint, worker: configuration.name)
    observer(.buried(reason: reason))
  }

  // MARK: Signs of life

  /// ms between signs of life, and between looks at what others left behind.
  static let pulseInterval = 1000

  /// Gives signs of life, more of them when a scheduled campaign is due sooner, so that it begins on time.
  private func pulseLoop() async {
    var nextUpkeep: UInt64 = 0
    while !isFinished {
      isPulseWanted = false
      var wait = Self.pulseInterval
      do {
        // Before anything that others left behind is looked at: Redis may have forgotten that it is ours.
        await checkServer()
        let pulse = try await control.heartbeat(worker: configuration.name, silence: configuration.lease)
        let heard = EventLoop.now
        fleet = pulse.workers
        do {
          try await begin(pulse.scheduled)
        } catch {
          // Others' slices are looked after all the same.
          report("could not begin a scheduled campaign", error)
        }
        if heard >= nextUpkeep {
          nextUpkeep = heard + UInt64(Self.pulseInterval) * 1_000_000
          try await rescue(pulse)
          reportConnections()
          expireBacklogs()
          relieveStorms()
          try await measureClock()
          try await sweep()
        }
        let untilNext = UInt64(min(pulse.nextScheduled ?? .max, Self.pulseInterval)) * 1_000_000
        let due = min(nextUpkeep, heard + untilNext)
        wait = Int(due - min(due, EventLoop.now) + 999_999) / 1_000_000
      } catch {
        report("sign of life failed", error)
      }
      if !isPulseWanted, !isFinished { await sleep(.pulse, milliseconds: wait) }
    }
  }

  func wakePulse() {
    isPulseWanted = true
    wake(.pulse)
  }

  // MARK: Steering

  /// ms between looks at the states of the campaigns in hand.
  static let steeringInterval = 100

  private func steeringLoop() async {
    while !isFinished {
      await pause(milliseconds: Self.steeringInterval)
      do {
        try await followSteering()
      } catch {
        report("could not read the states of campaigns", error)
      }
    }
  }

  // MARK: Waiting

  /// Loops that others wake.
  private enum Sleeper {
    case claims, pulse
  }

  private func sleep(_ sleeper: Sleeper, milliseconds: Int) async {
    let timer = LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.wake(sleeper) } }
    timer.schedule(after: .milliseconds(milliseconds))
    await withCheckedContinuation { sleepers[sleeper] = $0 }
    timer.disarm()
  }

  private func wake(_ sleeper: Sleeper) {
    sleepers.removeValue(forKey: sleeper)?.resume()
  }

  /// Suspends; a stopping worker's loops end a moment later, so it need not be cut short.
  private func pause(milliseconds: Int) async {
    do {
      try await Task.sleep(for: .milliseconds(milliseconds))
    } catch {
      // Cancelled: whoever runs us wants the end, not a graceful one.
      beginStop()
      abandonUnanswered()
    }
  }
}
