import Admin

/// Where the API computes what takes long.
struct APIPools: Sendable {
  /// Reading jobs and other large bodies: seconds at most.
  let jobs = ComputePool()
  /// Counting an audience, or all targets of a campaign: as long as that takes with the largest base, in Redis' time mostly.
  /// After two minutes most proxies have given up.
  let counts = ComputePool(patience: .seconds(120))
}
