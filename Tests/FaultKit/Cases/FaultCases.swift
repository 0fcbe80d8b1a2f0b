/// Every case there is.
public enum FaultCases {
  /// In the order of the table.
  public static let all: [FaultCase] =
    KillCases.all + TerminationCases.all + StandstillCases.all + RedisLossCases.all + RedisRefusalCases.all
    + RedisNetworkCases.all + APNsNetworkCases.all + APNsAnswerCases.all
}
