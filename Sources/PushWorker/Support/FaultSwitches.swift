import PushCore

/// Faults that a test injects into a worker, to check that the damage is bounded or detected.
///
/// Only a debug build can inject faults. In a release build, every query of a switch returns a constant.
public struct FaultSwitches: Sendable {
  /// A moment at which the process may be killed, in the order of a slice's life.
  public enum Moment: String, Sendable, CaseIterable {
    /// A job has become a campaign; its slices are open.
    case activated
    /// A slice is claimed; nothing of it was sent.
    case claimed
    /// The targets of a slice are fixed.
    case sealed
    /// Redis has acknowledged a grant; nothing of it was sent.
    case granted
    /// Pushes were passed to the connections.
    case sent
    /// An acceptance has arrived and is not recorded.
    case answered
    /// Outcomes are recorded.
    case committed
    /// A slice is closed, but its counts are not added to its campaign yet.
    case closed
  }

  /// A deliberate violation of a rule of the worker. The tests of this rule must detect the violation.
  public enum Mutant: String, Sendable, CaseIterable {
    /// Targets beyond the granted ones are sent.
    case creditIgnored
    /// Pushes are recorded as accepted when they are passed to the connections.
    case acknowledgeFirst
    /// Lost writes are not replayed.
    case noReplay
    /// A worker continues as the owner after it lost a claim, or after another worker wrote to the slice.
    case fenceIgnored
    /// Answers that Redis has not recorded yet are treated as targets in doubt.
    case resendsUnrecorded
    /// Deferred answers are recorded with their effects on devices, whatever the guard decides.
    case guardDeaf
  }

  /// The moment at which the process dies; `nil` for none.
  public var moment: Moment?
  /// The occurrence of the moment at which the process dies, from 1.
  public var pass = 1
  /// Number of occurrences so far.
  private var passes = 0
  /// A raw device token that kills every worker that sends it.
  public var poison: [UInt8]?
  /// Called with each job that a worker checks at intake or reads for a campaign, on the thread that checks or reads
  /// the job. The closure may block.
  public var checksJob: (@Sendable ([UInt8]) -> Void)?
  /// The rule that is broken.
  public var mutant: Mutant?
  /// Ends the process immediately, without any cleanup.
  public var die: @Sendable () -> Void

  /// Creates switches without any fault.
  ///
  /// - Parameter die: Ends the process immediately. It is an argument because this module makes no system calls.
  public init(die: @escaping @Sendable () -> Void = {}) {
    self.die = die
  }

  /// Counts a moment, and ends the process if a test selected this moment.
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

  /// Ends the process if the token that is about to be sent is the poison token (``FaultSwitches/poison``).
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
