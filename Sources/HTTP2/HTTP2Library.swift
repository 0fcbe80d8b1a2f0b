internal import CNghttp2

/// The library behind this module.
public enum HTTP2Library {
  /// The version of nghttp2 at run time, such as `1.52.0`.
  public static var version: String {
    // nghttp2_version(3) returns a static structure; 0 requests no specific version.
    nghttp2_version(0).map { String(cString: $0.pointee.version_str) } ?? "unknown"
  }
}
