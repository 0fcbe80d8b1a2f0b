/// A fault during campaigns, with the invariant that must still be true.
///
/// A case is a script. It builds a world on its ``Stage``, injects faults, reports every fault that fired, and checks
/// the world. It fails if the checker finds a violation, if an announced fault never fired, or if it throws.
public struct FaultCase: Sendable {
  /// The name for `--only`: words joined by hyphens.
  public var name: String
  /// The kinds of injected faults, as in the table of results. Each must fire.
  public var faults: [String]
  /// The invariant, in a few words.
  public var invariant: String
  /// The allowed duplicates, in a few words.
  public var bound: String
  /// Environment of every command and worker of its worlds.
  public var environment: [String: String] = [:]
  /// Whether the full form measures times or rates, which other cases on the machine would change.
  public private(set) var measures = false
  /// Whether the case breaks a rule on purpose. Then the checker must find a violation.
  public private(set) var isMutant = false
  /// The script.
  public var script: @Sendable (Stage) async throws -> Void

  /// Creates a case from its parts.
  public init(
    _ name: String, faults: [String], invariant: String, bound: String,
    script: @escaping @Sendable (Stage) async throws -> Void
  ) {
    self.name = name
    self.faults = faults
    self.invariant = invariant
    self.bound = bound
    self.script = script
  }

  /// The same case, but its full form is played alone, because it measures times or rates.
  public var measuring: FaultCase {
    var copy = self
    copy.measures = true
    return copy
  }

  /// Returns the same case with a rule broken on purpose. It proves that the checker detects the violation.
  ///
  /// - Parameter environment: the variables that break the rule.
  public func mutant(_ name: String, _ environment: [String: String]) -> FaultCase {
    var mutant = self
    mutant.name = "mutant-" + name
    mutant.environment = environment
    mutant.isMutant = true
    mutant.invariant = "the checker reports a violation"
    return mutant
  }
}

/// The size of a case.
public enum FaultScale: String, Sendable {
  /// Each kind of fault once, on a small campaign: for `make test`.
  case short
  /// The size of `make faults`.
  case full
}

/// An error for a case that can't be played on this machine.
public struct FaultSkipped: Error, CustomStringConvertible {
  /// The reason.
  public var description: String

  /// - Parameter reason: the reason.
  public init(_ reason: String) { description = reason }
}
