import CampaignStore

/// The lease on the housekeeping tasks. The worker that holds the lease is the maintenance leader: it runs these tasks
/// for the fleet and publishes a signal regularly. Confined to the worker's loop. Time is an argument, in ns of
/// `EventLoop.now`.
final class HousekeepingLease {
  /// Time in ms between two signals while a campaign runs, and between two runs of the tasks.
  static let beat = 250
  /// Minimum and maximum number of runs for each signal while no campaign runs. A signal costs Redis a write for each
  /// worker, and a late signal can't delay a campaign. Signals are therefore rarer in a larger fleet. The more frequent
  /// heartbeats of a larger fleet detect an expired lease sooner.
  private static let idleBeats = 4...16
  /// Divisor of the fleet's size: while no campaign runs, there are `fleet / workersPerCheck` runs for each signal,
  /// within ``idleBeats``.
  private static let workersPerCheck = 4
  /// Time in ms that a worker waits for a late signal.
  private static let patience = 200
  /// Time in ms between two checks of a leader that sends no signal.
  static let look = 200

  /// Whether this worker is the maintenance leader.
  private(set) var isMine = false
  /// The positions of the sweeps.
  var notes = HousekeepingNotes()
  /// Time of the next sweep step.
  private var nextSweep: UInt64 = 0
  /// Number of runs so far.
  private var beats = 0
  /// Whether the next run checks the other workers. Every second run has such a check. A worker counts as dead after
  /// two checks, so the detection takes less than a second. The first run of a leader also has a check, because only
  /// the leader detects that the former leader has died.
  private var looksNext = true
  /// The number of the run that sends the next signal while no campaign runs.
  private var nextIdleBeat = 0
  /// Time of the last signal; `nil` if no leader is known.
  private var lastBeat: UInt64?
  /// Time in ms from the last signal to the next.
  private var interval = HousekeepingLease.beat
  /// Time since which this worker holds slices; `nil` while it holds none.
  private var busySince: UInt64?

  /// Records a signal.
  ///
  /// - Parameter next: Time in ms until the next signal, as the leader announced it. Limited to the longest interval in
  ///   ``idleBeats``.
  func receivedSignal(_ now: UInt64, next: Int) {
    lastBeat = now
    interval = min(max(Self.beat, next), Self.beat * Self.idleBeats.upperBound)
  }

  /// Returns the time in ms until the leader's signal counts as missing; 0 if it already counts as missing. Two missing
  /// signals can mean that the leader is dead.
  func untilMissing(_ now: UInt64) -> Int {
    guard let lastBeat else { return 0 }
    var end = Self.end(of: interval, after: lastBeat)
    // While a campaign runs, the longer time that the leader announced for a fleet without campaigns does not count.
    if let busySince { end = min(end, Self.end(of: Self.beat, after: max(lastBeat, busySince))) }
    return end > now ? Int(end - now + 999_999) / 1_000_000 : 0
  }

  /// - Returns: The time after which a signal counts as missing, if it was due `interval` ms after `moment`.
  private static func end(of interval: Int, after moment: UInt64) -> UInt64 {
    moment + UInt64(2 * interval + patience) * 1_000_000
  }

  /// Records that the worker holds slices. A campaign therefore runs, and each run of the leader sends a signal.
  ///
  /// - Returns: Whether a missing signal is now detected sooner.
  func noteBusy(_ now: UInt64) -> Bool {
    guard busySince == nil else { return false }
    busySince = now
    return !isMine && interval > Self.beat
  }

  /// Records that the worker holds no slice.
  func noteIdle() { busySince = nil }

  /// Records that a heartbeat found no leader. This worker then tries to become the leader without waiting for a
  /// signal.
  func receivedNoLeader() { lastBeat = nil }

  /// Returns the time in ms from this run's signal to the next one, in a fleet without campaigns; `nil` if this run has
  /// no signal. A new leader sends one immediately.
  ///
  /// - Parameter fleet: Number of live workers.
  func untilIdleBeat(fleet: Int) -> Int? {
    guard !isMine || beats >= nextIdleBeat else { return nil }
    let looks = min(max(Self.idleBeats.lowerBound, fleet / Self.workersPerCheck), Self.idleBeats.upperBound)
    return Self.beat * looks
  }

  /// Records a signal to a fleet without campaigns, with the time in ms until the next.
  func gaveIdleBeat(next: Int) { nextIdleBeat = beats + next / Self.beat }

  /// Records that this worker is the leader, still or from now on.
  ///
  /// - Returns: Whether it was not the leader before.
  func begin(_ notes: HousekeepingNotes) -> Bool {
    defer { isMine = true }
    guard !isMine else { return false }
    looksNext = true
    self.notes = notes
    return true
  }

  /// Records that another worker is the leader, or no worker.
  func end(_ now: UInt64) {
    isMine = false
    lastBeat = now
    interval = Self.beat
  }

  /// Counts a run, and returns whether it checks the other workers.
  func looksAround() -> Bool {
    beats += 1
    defer { looksNext.toggle() }
    return looksNext
  }

  /// Returns whether this run has a sweep step: once a second.
  func isSweepDue(_ now: UInt64) -> Bool {
    guard now >= nextSweep else { return false }
    nextSweep = now + 1_000_000_000
    return true
  }

  /// Number of sweep steps between two searches for lost references and lost scheduled campaigns.
  private static let rareEvery = 8
  /// Duration in seconds of a sweep through all partitions.
  private static let sweepTime = 256

  /// Returns the partitions of the next sweep step, and whether the step searches for lost references and campaigns.
  func nextPartitions(of count: Int) -> (partitions: [Int], isRare: Bool) {
    let first = notes.partition % count
    let number = min(count, (count + Self.sweepTime - 1) / Self.sweepTime)
    notes.partition = (first + number) % count
    return ((0..<number).map { (first + $0) % count }, first / number % Self.rareEvery == 0)
  }
}
