/// The result of a case.
public struct CaseReport: Codable, Sendable {
  /// The possible verdicts.
  public enum Verdict: String, Codable, Sendable {
    case passed, failed, skipped
  }

  public var name: String
  /// Engine of its workers.
  public var engine: String
  public var seed: UInt64
  public var verdict = Verdict.passed
  public var invariant: String
  /// Faults that the runner injected and that fired, by kind.
  public var injections: [String: Int] = [:]
  /// Faults that the simulator or a proxy fired by rate, by kind.
  public var rated: [String: Int] = [:]
  /// Number of checked campaigns.
  public var campaigns = 0
  /// Number of targets of the checked campaigns.
  public var targets = 0
  /// The bound in words.
  public var boundInWords: String
  /// Number of duplicates that the injections allow.
  public var bound = 0
  /// Number of observed duplicates.
  public var duplicates = 0
  /// Times in ms from a worker's death until another worker held a slice of it: one for each slice, if no other worker
  /// died in between.
  public var takeovers: [Int] = []
  /// The same times if other workers died in between. One of them may have been about to take over.
  public var disturbedTakeovers: [Int] = []
  /// The violations, or the reason why the case was skipped.
  public var violations: [String] = []
  /// Whether the only problem was a fault that never fired.
  public var isMissed = false
  /// The violation that the checker found in a mutant; `nil` for none and for other cases.
  public var mutant: String?
  /// Additional notes of the case.
  public var notes: [String] = []
  /// Folder of the logs, if they were kept.
  public var logs: String?
  public var seconds = 0.0

  init(_ fault: FaultCase, engine: String, seed: UInt64) {
    name = fault.name
    self.engine = engine
    self.seed = seed
    invariant = fault.invariant
    boundInWords = fault.bound
  }
}
