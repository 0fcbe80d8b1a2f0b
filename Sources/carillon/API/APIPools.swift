import Admin

/// The pools for long computations of the API.
struct APIPools: Sendable {
  /// Pool for parsing jobs and other large bodies. A computation takes at most a few seconds.
  let jobs = ComputePool()
  /// Pool for counting an audience or all targets of a campaign. The count takes longer with more users, mostly in
  /// Redis. The limit is two minutes, because most proxies close a connection after this time.
  let counts = ComputePool(timeout: .seconds(120))
}
