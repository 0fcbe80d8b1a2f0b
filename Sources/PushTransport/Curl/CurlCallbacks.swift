internal import CCurl
internal import PushCore

// The functions that libcurl calls for a connection.

/// Callback for CURLMOPT_SOCKETFUNCTION. `data` points to the connection, which outlives its multi handle.
func socketChanged(
  _: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t, _ interest: Int32, _ data: UnsafeMutableRawPointer?,
  _: UnsafeMutableRawPointer?
) -> Int32 {
  if let data {
    Unmanaged<CurlConnection>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.sockets.watch(descriptor, interest) }
  }
  return 0
}

/// Callback for CURLMOPT_TIMERFUNCTION. It must not call libcurl, so it only stores the time.
func timerChanged(_: UnsafeMutableRawPointer?, _ milliseconds: Int, _ data: UnsafeMutableRawPointer?) -> Int32 {
  if let data {
    Unmanaged<CurlConnection>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.timer.set(milliseconds: milliseconds) }
  }
  return 0
}

/// Callback for CURLOPT_OPENSOCKETFUNCTION. The result CURL_SOCKET_BAD makes the transfer fail with
/// CURLE_COULDNT_CONNECT before anything is sent.
func openConnectionSocket(
  _ data: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let data, let address else { return CURL_SOCKET_BAD }
  return Unmanaged<CurlConnection>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.open(address) }
}

/// Callback for CURLOPT_SSL_CTX_FUNCTION. libcurl calls it with OpenSSL's `SSL_CTX` before a handshake.
func adoptConnectionContext(
  _: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, _ data: UnsafeMutableRawPointer?
) -> CURLcode {
  guard let data, let context else { return CURLE_ABORTED_BY_CALLBACK }
  Unmanaged<CurlConnection>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.watchRecords(of: context) }
  return CURLE_OK
}

/// Callback for CURLOPT_DEBUGFUNCTION. It gets libcurl's text about its actions, and other data that it ignores.
func receiveDebugData(
  _: UnsafeMutableRawPointer?, _ kind: curl_infotype, _ text: UnsafeMutablePointer<CChar>?, _ count: Int,
  _ data: UnsafeMutableRawPointer?
) -> Int32 {
  guard kind == CURLINFO_TEXT, let data else { return 0 }
  Unmanaged<CurlConnection>.fromOpaque(data)._withUnsafeGuaranteedRef {
    $0.receiveDebugText(UnsafeRawBufferPointer(start: text, count: count))
  }
  return 0
}

/// Callback for CURLOPT_CLOSESOCKETFUNCTION. curl_multi_cleanup calls it too, when the easy handles no longer exist.
func closeConnectionSocket(_ data: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t) -> Int32 {
  if let data { Unmanaged<CurlConnection>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.sockets.close(descriptor) } }
  return 0
}
