import PushCore

/// What a test breaks in a worker, to see that the harm stays within bounds or is noticed.
///
/// Only a debug build has the switches; in a release build every question about them is a constant.
public struct FaultSwitches: Sendable {
  /// A moment at which the process may be killed, in the order of a slice's life.
  public enum Moment: String, Sendable, CaseIterable {
    /// A job has become a campaign; its slices are open.
    case activated
    /// A slice is ours; nothing of it was sent.
    case claimed
    /// Its targets are fixed.
    case sealed
    /// Redis has acknowledged a grant; nothing of it was sent.
    case granted
    /// Pushes were handed to the connections.
    case sent
    /// An acceptance has come and is not recorded.
    case answered
    /// Outcomes are recorded.
    case committed
    /// A slice is closed, and not counted for its campaign yet.
    case closed
  }

  /// A rule that is broken on purpose: what checks the rule must notice.
  public enum Mutant: String, Sendable, CaseIterable {
    /// Targets beyond what Redis granted are sent.
    case creditIgnored
    /// Pushes are recorded as accepted when they are handed to the connections.
    case acknowledgeFirst
    /// What Redis forgot is not told to it again.
    case noReplay
    /// Whoever has lost a claim, or whom Redis has been told of otherwise, goes on as the owner.
    case fenceIgnored
    /// Answers that Redis could not be told yet are taken for targets in doubt.
    case resendsUnrecorded
    /// What is held back is carried out, whatever the guard says.
    case guardDeaf
  }

  /// Where to die; `nil` for nowhere.
  public var moment: Moment?
  /// At which pass of the moment, from 1.
  public var pass = 1
  /// How often it has come.
  private var passes = 0
  /// A raw device token that is death to whoever sends it.
  public var poison: [UInt8]?
  /// Called with each job that is checked at intake or read for its campaign, on the thread that does so. It may block.
  public var checksJob: (@Sendable ([UInt8]) -> Void)?
  /// The rule that is broken.
  public var mutant: Mutant?
  /// Ends the process at once, with nothing cleaned up.
  public var die: @Sendable () -> Void

  /// Nothing is broken.
  ///
  /// - Parameter die: ends the process at once; the worker itself knows no system calls.
  public init(die: @escaping @Sendable () -> Void = {}) {
    self.die = die
  }

  /// Counts a moment, and ends the process if it is the one that a test asks for.
  fileprivate mutating func reach(_ moment: Moment) {
    guard moment == self.moment else { return }
    passes += 1
    if passes == pass { die() }
  }
}

extension WorkerPart {
  /// Marks a moment at which a test may end the process.
  @inline(__always) func crashPoint(_ moment: FaultSwitches.Moment) {
    #if DEBUG
      environment.configuration.faults.reach(moment)
    #endif
  }

  /// Marks a token that is about to be sent.
  @inline(__always) func crashPoint(sending token: ArraySlice<UInt8>) {
    #if DEBUG
      let faults = environment.configuration.faults
      if let poison = faults.poison, token.elementsEqual(poison) { faults.die() }
    #endif
  }

  /// The function that is called with each job that is checked or read.
  var jobHook: (@Sendable ([UInt8]) -> Void)? {
    #if DEBUG
      environment.configuration.faults.checksJob
    #else
      nil
    #endif
  }

  /// Whether a rule is broken on purpose.
  @inline(__always) func breaks(_ rule: FaultSwitches.Mutant) -> Bool {
    #if DEBUG
      environment.configuration.faults.mutant == rule
    #else
      false
    #endif
  }
}
