/// Cases in which one rule of the ledger is broken on purpose. Each uses a case that depends on the rule.
enum MutantCases {
  static let all: [FaultCase] = [
    KillCases.silence.mutant("credit-ignored", ["CARILLON_FAULT_MUTANT": "creditIgnored"]),
    KillCases.random.mutant("acknowledge-first", ["CARILLON_FAULT_MUTANT": "acknowledgeFirst"]),
    RedisRefusalCases.disconnected.mutant("resends-unrecorded", ["CARILLON_FAULT_MUTANT": "resendsUnrecorded"]),
    RedisLossCases.cut.mutant("no-replay", ["CARILLON_FAULT_MUTANT": "noReplay"]),
    // The checks of claim and version protect independently, so a mutant without a fence must disable all of them.
    StandstillCases.stopped.mutant(
      "no-fence",
      [
        "CARILLON_FAULT_MUTANT": "fenceIgnored",
        "CARILLON_FAULT_SCRIPT":
          "commit|owner and sealed and ARGV[6] == seq .. ' ' .. replays|sealed and ARGV[6] ~= ''",
      ]),
    ReferenceCases.doubled.mutant(
      "no-lease", ["CARILLON_FAULT_SCRIPT": "claim|if left > 0 then return {'held', left} end|"]),
    SkipCases.stopped.mutant(
      "no-merge-order", ["CARILLON_FAULT_SCRIPT": "commit|state == 16 and old_state ~= 16|false"]),
    ReferenceCases.doubled.mutant(
      "counts-twice",
      ["CARILLON_FAULT_SCRIPT": "finish|'SETBIT', KEYS[2], ARGV[1], 1) == 1|'SETBIT', KEYS[2], ARGV[1], 1) == 2"]),
    GuardCases.wrongEnvironment.mutant(
      "trial-unbounded", ["CARILLON_FAULT_SCRIPT": "guardtrial|limit - math.max(leased - returned, answers)|1000000"]),
    GuardCases.gone.mutant("guard-deaf", ["CARILLON_FAULT_MUTANT": "guardDeaf"]),
    CountedCases.killed.mutant(
      "one-too-many",
      ["CARILLON_FAULT_SCRIPT": "commit|(user.counts[k] or 0) >= cap.most|(user.counts[k] or 0) > cap.most"]),
    OwnTimeCases.killed.mutant(
      "too-early", ["CARILLON_FAULT_SCRIPT": "commit|if due <= now then|if due <= now + 5000 then"]),
  ]
}
