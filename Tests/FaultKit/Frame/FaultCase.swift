/// Something that goes wrong while campaigns run, and what must hold all the same.
///
/// A case is a script: it builds a world on its ``Stage``, breaks things there, reports every act that fired, and lets the
/// world be checked. It fails when the checker finds a violation, when a fault it announces never fired, or when it throws.
public struct FaultCase: Sendable {
  /// What `--only` knows it by: words joined by hyphens.
  public var name: String
  /// The kinds of fault that it injects, as the table names them; each must fire.
  public var faults: [String]
  /// What must hold, in a few words.
  public var invariant: String
  /// Which duplicates it allows, in a few words.
  public var bound: String
  /// For every command and worker of its worlds.
  public var environment: [String: String] = [:]
  /// A rule is broken on purpose: the checker must object.
  public private(set) var isMutant = false
  /// What happens.
  public var script: @Sendable (Stage) async throws -> Void

  /// Memberwise.
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

  /// The same with a rule broken on purpose: if the checker has nothing to say then, it is worth nothing.
  ///
  /// - Parameter environment: what breaks the rule.
  public func mutant(_ name: String, _ environment: [String: String]) -> FaultCase {
    var mutant = self
    mutant.name = "mutant-" + name
    mutant.environment = environment
    mutant.isMutant = true
    mutant.invariant = "the checker objects"
    return mutant
  }
}

/// How much of a case is played.
public enum FaultScale: String, Sendable {
  /// Each kind of fault once, on a small campaign: for `make test`.
  case short
  /// What `make faults` runs.
  case full
}

/// The case can't be played on this machine.
public struct FaultSkipped: Error, CustomStringConvertible {
  /// Why.
  public var description: String

  /// - Parameter reason: why.
  public init(_ reason: String) { description = reason }
}
