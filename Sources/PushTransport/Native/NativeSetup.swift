extension NativeConnection.Setup {
  /// - Throws: ``NativeFailure`` if this engine does not support the endpoint or its proxy.
  init(
    _ configuration: ConnectionPool.Configuration, liveness: NativeConnection.Liveness, firstStreamID: UInt32
  ) throws(NativeFailure) {
    let endpoint = configuration.endpoint
    guard let target = Authority(url: endpoint.url, scheme: "https", defaultPort: 443) else {
      throw NativeFailure("\(endpoint.url) is not https://host[:port]")
    }
    self.configuration = configuration
    self.target = target
    self.liveness = liveness
    self.firstStreamID = firstStreamID
    guard let url = endpoint.proxy?.url else { return }
    // 1080 is libcurl's default (CURLOPT_PROXY).
    proxy = Authority(url: url, scheme: "http", defaultPort: 1080)
    if proxy == nil {
      throw NativeFailure("the engine native supports only http:// proxies; \(url) needs engine: curl")
    }
  }
}
