/// What came of a case.
public struct CaseReport: Codable, Sendable {
  /// How a case can end.
  public enum Verdict: String, Codable, Sendable {
    case passed, failed, skipped
  }

  public var name: String
  /// What its workers sent with.
  public var engine: String
  public var seed: UInt64
  public var verdict = Verdict.passed
  public var invariant: String
  /// Acts of the runner that fired, by kind of fault.
  public var injections: [String: Int] = [:]
  /// Faults that the simulator or a proxy fired by rate, by kind.
  public var rated: [String: Int] = [:]
  /// Campaigns that were checked.
  public var campaigns = 0
  /// Targets of those.
  public var targets = 0
  /// In words.
  public var boundInWords: String
  /// Duplicates that the injections allow.
  public var bound = 0
  /// Duplicates that there were.
  public var duplicates = 0
  /// Milliseconds from a worker's death until each of its slices was in other hands, no other having died meanwhile.
  public var takeovers: [Int] = []
  /// The same where others died meanwhile, perhaps those that were about to take over.
  public var disturbedTakeovers: [Int] = []
  /// What was wrong; of a skipped case, why.
  public var violations: [String] = []
  /// Whether nothing was wrong but that a fault never fired.
  public var isMissed = false
  /// Of a mutant: what the checker had to say.
  public var mutant: String?
  /// What the case has to say besides.
  public var notes: [String] = []
  /// Where the logs are, if they were kept.
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
