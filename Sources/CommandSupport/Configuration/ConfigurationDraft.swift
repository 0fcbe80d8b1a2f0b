import Glibc
import PushCore
import Redis
package import ServiceTools

/// A configuration that is about to be written: what has no good default, and nothing else.
package struct ConfigurationDraft: Equatable {
  package var redisURL = "redis://127.0.0.1:6379/0"
  package var redisUser: String?
  package var redisPasswordFile: String?
  package var namespace = "carillon"
  package var app = ""
  /// The app's settings for its push service.
  package var settings = SetupDraft()

  package init() {}

  /// The file's text.
  package var text: String {
    var lines = [
      "# Written by carillon init. Config/README.md has every other key; what is not here has its default.",
      "redis:", "  url: \(YAMLText.quoted(redisURL))",
    ]
    if let redisUser { lines.append("  user: \(YAMLText.quoted(redisUser))") }
    if let redisPasswordFile { lines.append("  passwordFile: \(YAMLText.quoted(redisPasswordFile))") }
    lines += ["  namespace: \(YAMLText.quoted(namespace))", "", "apps:", "  \(YAMLText.quoted(app)):"]
    lines += settings.lines.map { "    \($0)" }
    lines += [
      "", "# Who may ask carillon admin for what: carillon admin token NAME --scope view makes the file.", "admin:",
    ]
    lines.append("  tokenFile: \(YAMLText.quoted("admin.token"))")
    return lines.joined(separator: "\n") + "\n"
  }

  /// Holds what would be written against the rules of the reader.
  ///
  /// - Parameter file: where it is to be written.
  /// - Throws: ``ConfigurationError`` and ``CommandError`` as for any file.
  package func check(file: String) throws {
    let configuration = try ConfigurationReader(directory: "").read(ConfigurationNode.parse(yaml: text, file: file))
    let access = try RedisAccess(configuration.redis)
    guard access.url.password == nil else {
      throw CommandError(
        .usage, "--redis has a password, which would stand in the file for everybody to read",
        hint: "write it into a file of its own, chmod 600, and name that: --redis-password-file")
    }
  }

  /// Writes it.
  ///
  /// - Throws: ``CommandError``, also where there is a file already: none is ever replaced.
  package func write(to file: String) throws(CommandError) {
    if let slash = file.lastIndex(of: "/"), slash > file.startIndex {
      // mkdir(2): a folder that is there already is as good; anything else the next call says.
      mkdir(String(file[..<slash]), 0o777)
    }
    // open(2): with O_EXCL a file that is there is an error, and no link is followed.
    let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      let isThere = errno == EEXIST
      throw CommandError(
        .input, isThere ? "\(file) is there already" : "\(file): \(String(cString: strerror(errno)))",
        hint: isThere ? "move it away, or name another with --output" : "check the path and its permissions")
    }
    defer { close(descriptor) }
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count >= 0 || errno == EINTR else {
        throw CommandError(.input, "\(file): \(String(cString: strerror(errno)))")
      }
      bytes = bytes.dropFirst(max(0, count))
    }
  }
}
