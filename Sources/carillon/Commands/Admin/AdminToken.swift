import Admin
import ArgumentParser
import CommandSupport
import Foundation
import Glibc
import PushCore

/// `carillon admin token`.
struct AdminToken: CarillonCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Makes a token, prints it once, and appends its hash to admin.tokenFile.",
    discussion: """
      Whoever shows the token may do what its scopes say: view, submit, operate, admin. The file holds no token, only \
      what tells a right one; a process that serves takes a changed file within seconds. To take a token back, remove \
      its line.

      Examples:
        carillon admin token backend --scope submit
        carillon admin token on-call --scope view,operate
      """)

  @OptionGroup var global: GlobalOptions
  @Argument(help: "Whose it is; named in the audit log.") var name: String
  @Option(help: "What it is good for, with commas: view, submit, operate, admin.") var scope: String

  func validate() throws {
    guard PlainName.isValid(name) else { throw ValidationError("NAME must be \(PlainName.form).") }
    _ = try AccessTokens.scopes(scope) { ValidationError("--scope: \($0).") }
  }

  func run() async throws {
    guard let file = try global.loadConfiguration().admin?.tokenFile else {
      throw CommandError(
        .configuration, "admin.tokenFile is missing",
        hint: "name a file in the configuration: admin: { tokenFile: admin.token }")
    }
    let scopes = try AccessTokens.scopes(scope) { CommandError(.usage, "--scope: \($0)") }
    let exists = FileManager.default.fileExists(atPath: file)
    if exists, try AdminEndpoint.tokens(file).has(name) {
      throw CommandError(
        .failed, "there is a token \(name) in \(file)", hint: "remove its line to take it back, or choose another name")
    }
    let token = AccessTokens.make()
    try append(AccessTokens.line(name: name, scopes: scopes, token: token), to: file)
    guard global.json else { return try StandardOutput.printLine(token) }
    try StandardOutput.printLine(JSONWriter.object("token", token))
  }

  /// Appends a line in one write, so that two at once leave two lines.
  private func append(_ line: String, to file: String) throws {
    let descriptor = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure(file) }
    defer { close(descriptor) }
    let bytes = Array(line.utf8)
    guard write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else { throw failure(file) }
  }

  private func failure(_ file: String) -> CommandError {
    CommandError(
      .failed, "admin.tokenFile: \(file): \(String(cString: strerror(errno)))",
      hint: "check the folder and its permissions")
  }
}
