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
  /// Breaks the ledger on purpose: the checker must object.
  public var isMutant = false
  /// What happens.
  public var script: @Sendable (Stage) async throws -> Void

  /// Memberwise.
  public init(
    _ name: String, faults: [String], invariant: String, bound: String, isMutant: Bool = false,
    script: @escaping @Sendable (Stage) async throws -> Void
  ) {
    self.name = name
    self.faults = faults
    self.invariant = invariant
    self.bound = bound
    self.isMutant = isMutant
    self.script = script
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
