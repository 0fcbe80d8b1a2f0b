import CampaignStore

/// The lease on the housekeeping tasks, which one worker of the fleet holds and renews with a beat. Confined to the worker's loop.
/// Time is an argument, ns of `EventLoop.now`.
final class HousekeepingLease {
  /// ms between two beats while a campaign runs, and between looks what is to do.
  static let beat = 250
  /// Looks for each beat while no campaign runs: at least, and at most. Nothing can be lost then, and a beat costs Redis a
  /// write for each worker: so it gets rarer with the fleet, whose heartbeats say sooner that the lease has run out.
  private static let idleBeats = 4...16
  /// Workers of a fleet for each of these looks.
  private static let workersPerLook = 4
  /// ms that a beat may be late.
  private static let patience = 200
  /// ms between two looks at a housekeeper that gives no beat.
  static let look = 200

  /// Whether it is this worker.
  private(set) var isMine = false
  /// Where its rounds stand.
  var notes = HousekeepingNotes()
  /// When the partitions' rounds go on.
  private var nextSweep: UInt64 = 0
  /// Looks so far.
  private var beats = 0
  /// Whether others are looked at with the next look. They are with every second one: twice makes them dead, so within a
  /// second they are. And with the first: who died before, the housekeeper above all, was seen by nobody, or by us.
  private var looksNext = true
  /// The look with which a fleet without campaigns is given its next beat.
  private var nextIdleBeat = 0
  /// `nil` where nobody keeps house as far as is known.
  private var lastBeat: UInt64?
  /// ms from the last beat until the next.
  private var interval = HousekeepingLease.beat
  /// Since when slices are in hand; `nil` while none is.
  private var busySince: UInt64?

  /// A beat was heard.
  ///
  /// - Parameter next: ms until the next, by whoever gave it. What is longer than any of ours is not believed.
  func heard(_ now: UInt64, next: Int) {
    lastBeat = now
    interval = min(max(Self.beat, next), Self.beat * Self.idleBeats.upperBound)
  }

  /// ms until a beat is missing; 0 when one is. The housekeeper may be dead when two are.
  func untilMissing(_ now: UInt64) -> Int {
    guard let lastBeat else { return 0 }
    var end = Self.end(of: interval, after: lastBeat)
    // Of what the last beat of a fleet without campaigns promised nothing is waited for once one runs.
    if let busySince { end = min(end, Self.end(of: Self.beat, after: max(lastBeat, busySince))) }
    return end > now ? Int(end - now + 999_999) / 1_000_000 : 0
  }

  /// - Returns: when a beat is missing that should have come so many ms after some moment.
  private static func end(of interval: Int, after moment: UInt64) -> UInt64 {
    moment + UInt64(2 * interval + patience) * 1_000_000
  }

  /// Slices are in hand: a campaign runs, so a beat comes with every look.
  ///
  /// - Returns: whether a beat is missing sooner by that.
  func noteBusy(_ now: UInt64) -> Bool {
    guard busySince == nil else { return false }
    busySince = now
    return !isMine && interval > Self.beat
  }

  /// No slice is in hand.
  func noteIdle() { busySince = nil }

  /// A heartbeat said that nobody has the lease: nobody waits for the beat any more.
  func heardOfNone() { lastBeat = nil }

  /// ms from this look's beat of a fleet without campaigns to the next; `nil` when none is due with this look. Whoever is
  /// new in the house gives one at once.
  ///
  /// - Parameter fleet: workers that live.
  func untilIdleBeat(fleet: Int) -> Int? {
    guard !isMine || beats >= nextIdleBeat else { return nil }
    let looks = min(max(Self.idleBeats.lowerBound, fleet / Self.workersPerLook), Self.idleBeats.upperBound)
    return Self.beat * looks
  }

  /// A beat for a fleet without campaigns was given, with so many ms until the next.
  func gaveIdleBeat(next: Int) { nextIdleBeat = beats + next / Self.beat }

  /// This worker keeps house, still or from now on.
  ///
  /// - Returns: whether it is new to it.
  func begin(_ notes: HousekeepingNotes) -> Bool {
    defer { isMine = true }
    guard !isMine else { return false }
    looksNext = true
    self.notes = notes
    return true
  }

  /// Another does, or nobody.
  func end(_ now: UInt64) {
    isMine = false
    lastBeat = now
    interval = Self.beat
  }

  /// Whether to look who is there, this time.
  func looksAround() -> Bool {
    beats += 1
    defer { looksNext.toggle() }
    return looksNext
  }

  /// Whether the rounds through partitions and campaigns go on, this time: once a second.
  func isSweepDue(_ now: UInt64) -> Bool {
    guard now >= nextSweep else { return false }
    nextSweep = now + 1_000_000_000
    return true
  }

  /// Partitions between two looks after references and scheduled campaigns that got lost.
  private static let rareEvery = 8
  /// Seconds in which a round through all partitions is made.
  private static let sweepTime = 256

  /// The partitions to look at now, and whether to look for what got lost.
  func nextPartitions(of count: Int) -> (partitions: [Int], isRare: Bool) {
    let first = notes.partition % count
    let number = min(count, (count + Self.sweepTime - 1) / Self.sweepTime)
    notes.partition = (first + number) % count
    return ((0..<number).map { (first + $0) % count }, first / number % Self.rareEvery == 0)
  }
}
