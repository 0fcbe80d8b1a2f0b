/// Every case there is.
public enum FaultCases {
  /// In the order of the table.
  public static let all: [FaultCase] =
    KillCases.all + TerminationCases.all + SkipCases.all + StandstillCases.all + SteeringCases.all
    + TimeAndPoisonCases.all + ReferenceCases.all + RedisLossCases.all + RedisRefusalCases.all
    + RedisNetworkCases.all + APNsNetworkCases.all + APNsAnswerCases.all + MutantCases.all
}
