/// Transport that carries pushes to the service.
public enum PushEngineKind: String, Sendable, CaseIterable {
  /// libcurl (``CurlConnection``): supports proxies of every kind, including those that the environment names. It often
  /// can't prove that a push was not processed; the result is then unknown.
  case curl
  /// nghttp2 over OpenSSL (``NativeConnection``), the default: needs a fraction of the CPU time, and knows which pushes
  /// were not processed. Supports only `http://` proxies with Basic authentication.
  case native
}
