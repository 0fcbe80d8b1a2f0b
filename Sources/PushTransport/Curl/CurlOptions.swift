internal import CCurl

extension ConnectionPool.Configuration {
  /// Sets the options of an easy handle that are the same for every push of every connection.
  ///
  /// - Returns: `false` when libcurl lacks memory, or one of the options.
  func apply(to easy: UnsafeMutableRawPointer) -> Bool {
    let codes =
      [
        // ALPN decides; cleartext HTTP/2 is never spoken (it fails on reused connections in 7.88).
        carillon_easy_set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS),
        // APNs asks for TLS 1.2 or later. (A C int since libcurl 8.13, a long before.)
        carillon_easy_set_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
        carillon_easy_set_long(easy, CURLOPT_POST, 1),
        // Wait for the connection's streams instead of opening another connection.
        carillon_easy_set_long(easy, CURLOPT_PIPEWAIT, 1),
        // Timeouts of the resolver must not use signals in a program with threads.
        carillon_easy_set_long(easy, CURLOPT_NOSIGNAL, 1),
        carillon_easy_set_long(easy, CURLOPT_TIMEOUT_MS, Int(requestTimeout / 1_000_000)),
        carillon_easy_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(connectTimeout / 1_000_000)),
        // A look-up that is given up goes on in its thread: without this libcurl would wait for it, and the loop with it.
        carillon_easy_set_long(easy, CURLOPT_QUICK_EXIT, 1),
        // A fresh look-up for every connection spreads them over Apple's servers; 0 turns libcurl's cache off.
        carillon_easy_set_long(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0),
        // Without this all of them would begin with the first address that the resolver gives.
        carillon_easy_set_long(easy, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1),
        // libcurl sends no PING on a multi handle's connections (curl_easy_upkeep(3) knows those of easy handles only), so
        // TCP's own probes keep an idle connection in the memory of NATs, and notice when the peer is gone.
        carillon_easy_set_long(easy, CURLOPT_TCP_KEEPALIVE, 1),
        carillon_easy_set_long(easy, CURLOPT_TCP_KEEPIDLE, Self.keepaliveIdle),
        carillon_easy_set_long(easy, CURLOPT_TCP_KEEPINTVL, Self.keepaliveInterval),
        // libcurl takes no connection that was idle for 118 s; for how long one is good is the driver's to say.
        carillon_easy_set_long(easy, CURLOPT_MAXAGE_CONN, Self.longestIdle),
        // The smallest that libcurl takes: it allocates both for every push, and answers and payloads are small.
        carillon_easy_set_long(easy, CURLOPT_BUFFERSIZE, 1024),
        carillon_easy_set_long(easy, CURLOPT_UPLOAD_BUFFERSIZE, 16 * 1024),
      ] + endpoint.apply(to: easy)
    return codes.allSatisfy { $0 == CURLE_OK }
  }

  /// Seconds without traffic before the first of TCP's probes, and between them: as often as node-apn sends its PING, and
  /// less than the five minutes after which NATs forget a connection at the earliest (RFC 5382 asks for two hours).
  private static let keepaliveIdle = 60
  private static let keepaliveInterval = 15
  /// Seconds; longer than ``idleLimit``, so that libcurl never decides.
  private static let longestIdle = 7 * 86_400
}

extension PushEndpoint {
  /// Sets the options of an easy handle that say whom to trust, and by which proxy to go.
  func apply(to easy: UnsafeMutableRawPointer) -> [CURLcode] {
    trustOptions.map { carillon_easy_set_string(easy, $0.option, $0.value) } + (proxy?.apply(to: easy) ?? [])
  }

  /// What replaces libcurl's own trust; nothing where that is as it should be.
  var trustOptions: [(option: CURLoption, value: String?)] {
    // libcurl believes file *and* directory, and was built with the distribution's directory (CURLOPT_CAPATH).
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
