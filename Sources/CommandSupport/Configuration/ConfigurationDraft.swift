import Glibc
import PushCore
import Redis
package import ServiceTools

/// The values of a new configuration file, which `carillon init` writes. The file contains only keys without a suitable
/// default.
package struct ConfigurationDraft {
  package var redisURL = "redis://127.0.0.1:6379/0"
  package var redisUser: String?
  package var redisPasswordFile: String?
  package var namespace = "carillon"
  package var app = ""
  /// The app's settings for each push service, by the name of the service.
  package var services: [(service: String, settings: SetupDraft)] = []

  /// Files that the settings name. They must exist before the configuration is written.
  package var files: [String] { services.flatMap(\.settings.files) }

  package init() {}

  /// The file's text.
  package var text: String {
    var lines = [
      "# Written by carillon init. Config/README.md describes all keys; omitted keys have their defaults.",
      "redis:", "  url: \(YAMLText.quoted(redisURL))",
    ]
    if let redisUser { lines.append("  user: \(YAMLText.quoted(redisUser))") }
    if let redisPasswordFile { lines.append("  passwordFile: \(YAMLText.quoted(redisPasswordFile))") }
    lines += ["  namespace: \(YAMLText.quoted(namespace))", "", "apps:", "  \(YAMLText.quoted(app)):"]
    for (service, settings) in services {
      lines.append("    \(service):")
      lines += settings.lines.map { "      \($0)" }
    }
    lines += [
      "", "# Access tokens for carillon admin: carillon admin token NAME --scope view creates the file.", "admin:",
    ]
    lines.append("  tokenFile: \(YAMLText.quoted("admin.token"))")
    return lines.joined(separator: "\n") + "\n"
  }

  /// Checks the draft with the rules of ``ConfigurationReader``.
  ///
  /// - Parameter file: the path of the new file, for messages.
  /// - Throws: ``ConfigurationError`` or ``CommandError``, as for a file.
  package func check(file: String) throws {
    let configuration = try ConfigurationReader(directory: "").read(ConfigurationNode.parse(yaml: text, file: file))
    let access = try RedisAccess(configuration.redis)
    guard access.url.password == nil else {
      throw CommandError(
        .usage, "--redis contains a password, and every user of this machine could read it in the configuration file",
        hint: "write the password into a separate file (chmod 600) and use --redis-password-file")
    }
  }

  /// Writes the file.
  ///
  /// - Throws: ``CommandError``, for example if the file exists. An existing file is never replaced.
  package func write(to file: String) throws(CommandError) {
    if let slash = file.lastIndex(of: "/"), slash > file.startIndex {
      // mkdir(2) fails if the folder exists, which is allowed. After any other error, open(2) fails too and reports it.
      mkdir(String(file[..<slash]), 0o777)
    }
    // open(2): with O_EXCL, an existing file is an error, and links are not followed.
    let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      let isThere = errno == EEXIST
      throw CommandError(
        .input, isThere ? "\(file) already exists" : "\(file): \(String(cString: strerror(errno)))",
        hint: isThere ? "move it away, or choose another file with --output" : "check the path and its permissions")
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
