/// What carries pushes to the service.
public enum PushEngineKind: String, Sendable, CaseIterable {
  /// libcurl (``CurlConnection``): proxies of every kind, also those of the environment. What it can't know for certain
  /// is ambiguous.
  case curl
  /// nghttp2 over OpenSSL (``NativeConnection``), the default: a fraction of the CPU time, and it knows what was not
  /// processed. Proxies by `http://` with Basic only.
  case native
}
