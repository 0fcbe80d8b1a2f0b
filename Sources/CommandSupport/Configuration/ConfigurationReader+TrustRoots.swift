import ServiceTools
import TextInput

/// Files of trusted certificates. libcurl and OpenSSL read these files themselves.
extension ConfigurationReader {
  /// Returns the path of the `trustRoots` of a section.
  ///
  /// - Throws: an error for a file that begins with a byte order mark. OpenSSL ignores a certificate whose first line
  ///   does not begin with `-----BEGIN` (PEM_read_bio(3)), so the first certificate would not be trusted. A file that
  ///   can't be read is not an error here. The code that uses the file reports it.
  func trustRoots(of section: ConfigurationSection) throws(ConfigurationError) -> String? {
    guard let path = try section.string("trustRoots").map(resolve) else { return nil }
    guard let start = try? InputFile(path).read(), start.starts(with: ByteOrderMark.bytes) else { return path }
    throw section.error(
      "trustRoots", "\(path) begins with a byte order mark, so its first certificate would be ignored",
      hint: "save the file as UTF-8 without a byte order mark, or run: sed -i '1s/^\\xEF\\xBB\\xBF//' \(path)")
  }
}
