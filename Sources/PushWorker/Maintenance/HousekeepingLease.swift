import CampaignStore

/// The lease on the housekeeping tasks. The worker that holds the lease is the maintenance leader: it runs these tasks
/// for the fleet and publishes a signal regularly. Confined to the worker's loop. Time is an argument, in ns of
/// `EventLoop.now`.
final class HousekeepingLease {
  /// Time in ms between two signals while a campaign runs, and between two runs of the tasks.
  static let signalInterval = 250
  /// Minimum and maximum number of runs of the tasks from one signal to the next, while no campaign runs. A signal
  /// costs Redis a write for each worker, and a late signal can't delay a campaign. Signals are therefore rarer in a
  /// larger fleet. The more frequent heartbeats of a larger fleet detect an expired lease sooner.
  private static let runsPerIdleSignal = 4...16
  /// Divisor of the fleet's size. While no campaign runs, there is one signal for every `fleet / workersPerCheck` runs,
  /// within the bounds of ``runsPerIdleSignal``.
  private static let workersPerCheck = 4
  /// Time in ms that a worker waits for a late signal.
  private static let signalTolerance = 200
  /// Time in ms between two checks of a leader that sends no signal.
  static let retryInterval = 200

  /// Whether this worker is the maintenance leader.
  private(set) var isLeader = false
  /// The positions of the sweeps: the tasks that go through all partitions and campaigns.
  var progress = HousekeepingProgress()
  /// Time of the next sweep step, which handles a few partitions.
  private var nextSweep: UInt64 = 0
  /// Number of runs so far.
  private var runs = 0
  /// Whether the next run checks the other workers. Every second run has such a check. A worker counts as dead after
  /// two checks, so the detection takes less than a second. The first run of a leader also has a check, because only
  /// the leader detects that the former leader has died.
  private var checksWorkersNext = true
  /// The number of the run that sends the next signal while no campaign runs.
  private var nextIdleSignal = 0
  /// Time of the last signal; `nil` if no leader is known.
  private var lastSignal: UInt64?
  /// Time in ms from the last signal to the next.
  private var interval = HousekeepingLease.signalInterval
  /// Time since which this worker holds slices; `nil` while it holds none.
  private var busySince: UInt64?

  /// Records a signal.
  ///
  /// - Parameter next: Time in ms until the next signal, as the leader announced it. Limited to the longest interval in
  ///   ``runsPerIdleSignal``.
  func receivedSignal(_ now: UInt64, next: Int) {
    lastSignal = now
    interval = min(max(Self.signalInterval, next), Self.signalInterval * Self.runsPerIdleSignal.upperBound)
  }

  /// Returns the time in ms until the leader's signal counts as missing; 0 if it already counts as missing. Two missing
  /// signals can mean that the leader is dead.
  func untilMissing(_ now: UInt64) -> Int {
    guard let lastSignal else { return 0 }
    var end = Self.end(of: interval, after: lastSignal)
    // The last signal may have announced the longer interval of a fleet without campaigns. This worker holds slices, so
    // a campaign runs and the short interval applies.
    if let busySince { end = min(end, Self.end(of: Self.signalInterval, after: max(lastSignal, busySince))) }
    return end > now ? Int(end - now + 999_999) / 1_000_000 : 0
  }

  /// Returns the time after which a signal counts as missing that was due `interval` ms after `moment`.
  private static func end(of interval: Int, after moment: UInt64) -> UInt64 {
    moment + UInt64(2 * interval + signalTolerance) * 1_000_000
  }

  /// Records that the worker holds slices. A campaign therefore runs, and each run of the leader sends a signal.
  ///
  /// - Returns: Whether a missing signal is now detected sooner.
  func recordBusy(_ now: UInt64) -> Bool {
    guard busySince == nil else { return false }
    busySince = now
    return !isLeader && interval > Self.signalInterval
  }

  /// Records that the worker holds no slice.
  func recordIdle() { busySince = nil }

  /// Records that a heartbeat found no leader. This worker then tries to become the leader without waiting for a
  /// signal.
  func receivedNoLeader() { lastSignal = nil }

  /// Returns the time in ms from this run's signal to the next one, in a fleet without campaigns; `nil` if this run has
  /// no signal. A new leader sends one immediately.
  ///
  /// - Parameter fleet: Number of live workers.
  func idleSignalDelay(fleet: Int) -> Int? {
    guard !isLeader || runs >= nextIdleSignal else { return nil }
    let count = min(
      max(Self.runsPerIdleSignal.lowerBound, fleet / Self.workersPerCheck), Self.runsPerIdleSignal.upperBound)
    return Self.signalInterval * count
  }

  /// Records a signal to a fleet without campaigns, with the time in ms until the next.
  func recordIdleSignal(next: Int) { nextIdleSignal = runs + next / Self.signalInterval }

  /// Records that this worker is the leader, still or from now on.
  ///
  /// - Returns: Whether it was not the leader before.
  func begin(_ progress: HousekeepingProgress) -> Bool {
    defer { isLeader = true }
    guard !isLeader else { return false }
    checksWorkersNext = true
    self.progress = progress
    return true
  }

  /// Records that another worker is the leader, or no worker.
  func end(_ now: UInt64) {
    isLeader = false
    lastSignal = now
    interval = Self.signalInterval
  }

  /// Counts a run, and returns whether it checks the other workers.
  func countRun() -> Bool {
    runs += 1
    defer { checksWorkersNext.toggle() }
    return checksWorkersNext
  }

  /// Returns whether this run has a sweep step: once a second.
  func isSweepDue(_ now: UInt64) -> Bool {
    guard now >= nextSweep else { return false }
    nextSweep = now + 1_000_000_000
    return true
  }

  /// Number of sweep steps between two searches for lost references and lost scheduled campaigns.
  private static let stepsPerSearch = 8
  /// Duration in seconds of a sweep through all partitions.
  private static let sweepTime = 256

  /// Returns the partitions of the next sweep step. `isRare` is true if the step also searches for lost references and
  /// lost scheduled campaigns.
  func nextPartitions(of count: Int) -> (partitions: [Int], isRare: Bool) {
    let first = progress.partition % count
    let number = min(count, (count + Self.sweepTime - 1) / Self.sweepTime)
    progress.partition = (first + number) % count
    return ((0..<number).map { (first + $0) % count }, first / number % Self.stepsPerSearch == 0)
  }
}
