/// Transport that carries pushes to the service.
public enum PushEngineKind: String, Sendable, CaseIterable {
  /// libcurl (``CurlConnection``): supports proxies of every kind, also those of the environment. If it can't determine
  /// the result of a push, the result is unknown.
  case curl
  /// nghttp2 over OpenSSL (``NativeConnection``), the default: needs a fraction of the CPU time, and knows which pushes
  /// were not processed. Supports only `http://` proxies with Basic authentication.
  case native
}
