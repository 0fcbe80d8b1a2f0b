internal import CCurl

/// The library behind the engine `curl` and single requests.
public enum CurlLibrary {
  /// The version of libcurl, such as `8.14.1`, as it is when the program runs.
  public static var version: String {
    // curl_version_info(3): a static structure; its first form has the version.
    curl_version_info(CURLVERSION_FIRST).map { String(cString: $0.pointee.version) } ?? "unknown"
  }
}
