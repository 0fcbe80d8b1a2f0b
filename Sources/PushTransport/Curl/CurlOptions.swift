internal import CCurl

extension ConnectionPool.Configuration {
  /// Sets the options of an easy handle that are the same for every push of every connection.
  ///
  /// - Returns: `false` if libcurl lacks memory, or does not support one of the options.
  func apply(to easy: UnsafeMutableRawPointer) -> Bool {
    let codes =
      [
        // ALPN selects the protocol. Cleartext HTTP/2 is never used (in 7.88 it fails on reused connections).
        carillon_easy_set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS),
        // APNs requires TLS 1.2 or later. (The option is a C int since libcurl 8.13, and a long before.)
        carillon_easy_set_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
        carillon_easy_set_long(easy, CURLOPT_POST, 1),
        // Wait for the connection's streams instead of opening another connection.
        carillon_easy_set_long(easy, CURLOPT_PIPEWAIT, 1),
        // Timeouts of the resolver must not use signals in a program with threads.
        carillon_easy_set_long(easy, CURLOPT_NOSIGNAL, 1),
        carillon_easy_set_long(easy, CURLOPT_TIMEOUT_MS, Int(requestTimeout / 1_000_000)),
        carillon_easy_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(connectTimeout / 1_000_000)),
        // A cancelled lookup continues in its thread. Without this option, libcurl would wait for it and block the
        // loop.
        carillon_easy_set_long(easy, CURLOPT_QUICK_EXIT, 1),
        // A fresh lookup for every connection spreads the connections over Apple's servers; 0 turns off libcurl's
        // cache.
        carillon_easy_set_long(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0),
        // Without this option, all connections would begin with the first address that the resolver returns.
        carillon_easy_set_long(easy, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1),
        // libcurl sends no PING on the connections of a multi handle (curl_easy_upkeep(3) supports only connections of
        // easy handles). TCP's own probes therefore keep an idle connection alive in NATs and detect a dead peer.
        carillon_easy_set_long(easy, CURLOPT_TCP_KEEPALIVE, 1),
        carillon_easy_set_long(easy, CURLOPT_TCP_KEEPIDLE, Self.keepaliveIdle),
        carillon_easy_set_long(easy, CURLOPT_TCP_KEEPINTVL, Self.keepaliveInterval),
        // By default, libcurl does not reuse a connection that was idle for 118 s. Here the driver decides when a
        // connection is too old.
        carillon_easy_set_long(easy, CURLOPT_MAXAGE_CONN, Self.longestIdle),
        // libcurl allocates both buffers for every push. The smallest upload buffer that it allows is enough for a
        // payload. The buffer for answers must have room for a DATA frame (16 KB, RFC 9113 section 4.2): libcurl 7.88.1
        // stops reading an answer whose last frame is larger than the buffer, until the server sends more data.
        carillon_easy_set_long(easy, CURLOPT_BUFFERSIZE, 16 * 1024),
        carillon_easy_set_long(easy, CURLOPT_UPLOAD_BUFFERSIZE, 16 * 1024),
      ] + endpoint.apply(to: easy)
    return codes.allSatisfy { $0 == CURLE_OK }
  }

  /// Seconds without traffic before the first TCP probe, and seconds between probes. node-apn sends its PING at the
  /// same interval of 60 s. NATs keep an idle connection for at least five minutes (RFC 5382 requires two hours).
  private static let keepaliveIdle = 60
  private static let keepaliveInterval = 15
  /// Maximum idle time for libcurl in seconds. It is longer than ``idleLimit``, so that the driver always decides
  /// first.
  private static let longestIdle = 7 * 86_400
}

extension PushEndpoint {
  /// Sets the options of an easy handle for trust and for the proxy.
  func apply(to easy: UnsafeMutableRawPointer) -> [CURLcode] {
    trustOptions.map { carillon_easy_set_string(easy, $0.option, $0.value) } + (proxy?.apply(to: easy) ?? [])
  }

  /// Options that replace libcurl's own trust settings; empty to keep them.
  var trustOptions: [(option: CURLoption, value: String?)] {
    // The second option removes the distribution's directory of authorities (CURLOPT_CAPATH). Otherwise libcurl would
    // trust both this directory and the file.
    trustRoots.map { [(CURLOPT_CAINFO, $0), (CURLOPT_CAPATH, nil)] } ?? []
  }
}

extension PushEndpoint.Proxy {
  /// Sets the options of a handle.
  fileprivate func apply(to easy: UnsafeMutableRawPointer) -> [CURLcode] {
    let codes = [carillon_easy_set_string(easy, CURLOPT_PROXY, url)]
    guard let login else { return codes }
    return codes + [
      carillon_easy_set_string(easy, CURLOPT_PROXYUSERNAME, login.user),
      carillon_easy_set_string(easy, CURLOPT_PROXYPASSWORD, login.password), carillon_easy_set_proxy_auth(easy),
    ]
  }
}
