public import PushTransport

/// All cases.
public enum FaultCases {
  /// The cases in the order of the table.
  public static let all: [FaultCase] = {
    let groups: [[FaultCase]] = [
      KillCases.all, TerminationCases.all, SkipCases.all, StandstillCases.all, ControlCases.all,
      TimeAndPoisonCases.all, ReferenceCases.all, RedisLossCases.all, RedisRefusalCases.all, RedisNetworkCases.all,
      APNsNetworkCases.all, APNsAnswerCases.all, LegCases.all, MixedDeviceCases.all, QuotaCases.all, GuardCases.all,
      IsolationCases.all,
      LegIsolationCases.all, NeighbourCases.all, RateCases.all, CountedCases.all, OwnTimeCases.all,
      DepartureCases.all, StageCases.all, RecurringCases.all, VariantCases.all, UpgradeCases.all, AlertCases.all,
      EventCases.all, StoreCases.all, ClusterCases.all, SentinelCases.all, MutantCases.all,
    ]
    return groups.flatMap(\.self)
  }()

  /// One case for each kind of failure, and one mutant for each rule of the checker. `make faults` plays all cases, and
  /// `make test` the cases of ``quick(seed:)``.
  public static let quick: [FaultCase] = {
    let names: Set = [
      "kill-random", "kill-sent", "kill-closed", "sigterm", "skip-and-kill", "sigstop", "cancel-and-kill", "scheduled",
      "poison", "references-lost", "redis-killed", "aof-cut", "script-flush", "maxmemory", "redis-cut", "apns-cut",
      "apns-refused-stream", "apns-one-stream", "guard-wrong-environment",
      "legs-and-kill", "legs-of-mixed-devices", "fcm-credential-revoked", "fcm-tokens-expired",
      "isolation-killed", "rate-and-kill", "counted-and-kill", "own-time-and-kill", "departures-and-kill",
      "stages-and-kill", "recurring-and-kill",
      "variants-and-kill", "upgrade", "upgrade-refused", "alerts-redis", "events-and-kill", "cluster-killed",
      "cluster-slot-moved",
      // The mutants cause, in this order: duplicates; an outcome without a request; a lost answer; wrong counters;
      // removed devices; exceeded caps; early pushes.
      "mutant-credit-ignored", "mutant-acknowledge-first", "mutant-no-merge-order", "mutant-counts-twice",
      "mutant-guard-deaf", "mutant-one-too-many", "mutant-too-early",
    ]
    return all.filter { names.contains($0.name) }
  }()

  /// Cases of ``quick`` that every run of `make test` plays.
  private static let always: Set = [
    "kill-random", "sigterm", "redis-killed", "apns-cut", "legs-and-kill", "stages-and-kill", "mutant-credit-ignored",
  ]

  /// Returns the cases that `make test` plays: the most important cases of ``quick``, and a quarter of the others.
  ///
  /// - Parameter seed: selects the quarter. Among eight consecutive seeds, two select each quarter.
  public static func quick(seed: UInt64) -> [FaultCase] {
    let others = quick.filter { !always.contains($0.name) }.map(\.name)
    let selected = Set(others.enumerated().filter { $0.offset % 4 == Int(seed / 2 % 4) }.map(\.element))
    return quick.filter { always.contains($0.name) || selected.contains($0.name) }
  }

  /// Returns the engine of a case. It does not depend on the other cases of the run.
  ///
  /// The cases of ``quick`` alternate between the engines, and so do the others. The seed selects the first engine, so
  /// with the next seed each case has the other engine.
  ///
  /// - Parameter engines: at least one.
  public static func engine(of name: String, among engines: [PushEngineKind], seed: UInt64) -> PushEngineKind {
    let quick = Set(quick.map(\.name))
    let isQuick = quick.contains(name)
    let peers = all.map(\.name).filter { quick.contains($0) == isQuick }
    let turn = (peers.firstIndex(of: name) ?? 0) + Int(seed % UInt64(engines.count))
    return engines[turn % engines.count]
  }
}
