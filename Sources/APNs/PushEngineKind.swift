/// What carries pushes to APNs.
public enum PushEngineKind: String, Sendable, CaseIterable {
  /// libcurl (``CurlConnection``): any proxy. What it can't know for certain is ambiguous.
  case curl
  /// nghttp2 over OpenSSL (``NativeConnection``): a fraction of the CPU time, and it knows what was not processed.
  case native
}
