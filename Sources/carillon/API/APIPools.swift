import Admin

/// The pools for long computations of the API.
struct APIPools: Sendable {
  /// Pool for parsing jobs and other large bodies. A computation takes seconds at most.
  let jobs = ComputePool()
  /// Pool for counting an audience or all targets of a campaign. The time depends on the number of users and is mostly
  /// spent in Redis. After two minutes most proxies have closed the connection.
  let counts = ComputePool(patience: .seconds(120))
}
