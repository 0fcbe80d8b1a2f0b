import Glibc
import PushCore
import Redis

/// A configuration that is about to be written: what has no good default, and nothing else.
package struct ConfigurationDraft: Equatable {
  package var redisURL = "redis://127.0.0.1:6379/0"
  package var redisUser: String?
  package var redisPasswordFile: String?
  package var namespace = "carillon"
  package var app = ""
  package var topic = ""
  package var environment = "production"
  package var keyFile: String?
  package var keyID: String?
  package var teamID: String?
  package var certificateFile: String?
  package var passphraseFile: String?

  package init() {}

  /// The id of a key by its file's name, as Apple gives it: `AuthKey_ABC123DEFG.p8`.
  package static func keyID(ofFile file: String) -> String? {
    let name = file.split(separator: "/").last ?? ""
    guard name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else { return nil }
    let id = name.dropFirst("AuthKey_".count).dropLast(".p8".count)
    return id.isEmpty ? nil : String(id)
  }

  /// The file's text.
  package var text: String {
    var lines = [
      "# Written by carillon init. Config/README.md has every other key; what is not here has its default.",
      "redis:", "  url: \(Self.quoted(redisURL))",
    ]
    if let redisUser { lines.append("  user: \(Self.quoted(redisUser))") }
    if let redisPasswordFile { lines.append("  passwordFile: \(Self.quoted(redisPasswordFile))") }
    lines += [
      "  namespace: \(Self.quoted(namespace))", "", "apps:", "  \(Self.quoted(app)):",
      "    topic: \(Self.quoted(topic))",
    ]
    lines.append("    environment: \(Self.quoted(environment))")
    if let certificateFile {
      lines += ["    certificate:", "      file: \(Self.quoted(certificateFile))"]
      if let passphraseFile { lines.append("      passphraseFile: \(Self.quoted(passphraseFile))") }
    } else {
      lines += ["    token:"]
      for (key, value) in [("keyFile", keyFile), ("keyID", keyID), ("teamID", teamID)] {
        lines.append("      \(key): \(Self.quoted(value ?? ""))")
      }
    }
    lines += [
      "", "# Who may ask carillon admin for what: carillon admin token NAME --scope view makes the file.", "admin:",
    ]
    lines.append("  tokenFile: \(Self.quoted("admin.token"))")
    return lines.joined(separator: "\n") + "\n"
  }

  /// A value as YAML has it: as it is, or in single quotes.
  static func quoted(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy {
      PlainName.isLetter($0) || [UInt8(ascii: "/"), UInt8(ascii: ":")].contains($0)
    }
    // What YAML would take for something else than text.
    let isWord = text.utf8.first.map { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
    let isOther = ["true", "false", "null", "yes", "no", "on", "off"].contains(text.lowercased())
    if isPlain, isWord, !isOther, !text.hasPrefix("-"), !text.hasSuffix(":"), !text.contains(": ") { return text }
    return "'" + text.replacing("'", with: "''") + "'"
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
