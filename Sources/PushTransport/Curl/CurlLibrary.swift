internal import CCurl

/// Library that the engine `curl` and single requests use.
public enum CurlLibrary {
  /// Version of libcurl at run time, such as `8.14.1`.
  public static var version: String {
    // curl_version_info(3) returns a static structure; its first form contains the version.
    curl_version_info(CURLVERSION_FIRST).map { String(cString: $0.pointee.version) } ?? "unknown"
  }
}
