/// Transport that carries pushes to the service.
public enum PushEngineKind: String, Sendable, CaseIterable {
  /// libcurl (``CurlConnection``): supports proxies of every kind, including those that the environment names. If a
  /// push gets no answer, this transport often can't prove that the service has not processed the push. The result is
  /// then unknown.
  case curl
  /// nghttp2 over OpenSSL (``NativeConnection``), the default: needs a fraction of the CPU time of libcurl, and knows
  /// which pushes the service has not processed. Supports only `http://` proxies with Basic authentication.
  case native
}
