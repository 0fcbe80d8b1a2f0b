internal import EventLoop

/// One connection to APNs through libcurl's multi interface. The default engine; handles proxies.
actor CurlEngine: PushEngine {
  init(number: Int, configuration: ConnectionPool.Configuration, supply: any PushSupply) {}
  nonisolated func wake() {}
  func drain(deadline: UInt64) async {}
}
