internal import CNghttp2

/// The library behind this module.
public enum HTTP2Library {
  /// The version of nghttp2, such as `1.52.0`, as it is when the program runs.
  public static var version: String {
    // nghttp2_version(3): a static structure; 0 asks for no version in particular.
    nghttp2_version(0).map { String(cString: $0.pointee.version_str) } ?? "unknown"
  }
}
