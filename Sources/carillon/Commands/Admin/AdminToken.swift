import Admin
import ArgumentParser
import CommandSupport
import Foundation
import Glibc
import PushCore

/// The command `carillon admin token`.
struct AdminToken: AuditedCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Create an access token, print it once and append its hash to admin.tokenFile.",
    discussion: """
      A request with the token may do what the token's scopes allow: view, submit, operate, admin. The file contains \
      only hashes. A running server reads a changed file within seconds. To revoke a token, remove its line.

      Examples:
        carillon admin token backend --scope submit
        carillon admin token on-call --scope view,operate
      """)

  static let effect = Effect.unrecorded

  @OptionGroup var global: GlobalOptions
  @Argument(help: "The token's owner, as shown in the audit log.") var name: String
  @Option(help: "Scopes, separated by commas: view, submit, operate, admin.") var scope: String

  func validate() throws {
    guard PlainName.isValid(name) else { throw ValidationError("NAME must be \(PlainName.form).") }
    _ = try AccessTokens.scopes(scope) { ValidationError("--scope: \($0).") }
  }

  func run() async throws {
    guard let file = try global.loadConfiguration().admin?.tokenFile else {
      throw CommandError(
        .configuration, "admin.tokenFile is missing",
        hint: "set it in the configuration: admin: { tokenFile: admin.token }")
    }
    let scopes = try AccessTokens.scopes(scope) { CommandError(.usage, "--scope: \($0)") }
    let exists = FileManager.default.fileExists(atPath: file)
    if exists, try AdminEndpoint.tokens(file).has(name) {
      throw CommandError(
        .failed, "\(file) already contains a token \(name)",
        hint: "choose another name, or revoke the existing token: remove its line from the file")
    }
    let token = AccessTokens.make()
    try append(AccessTokens.line(name: name, scopes: scopes, token: token), to: file)
    guard global.json else { return try StandardOutput.printLine(token) }
    try StandardOutput.printLine(JSONWriter.object("token", token))
  }

  /// Appends a line with a single write(2), so that two simultaneous calls append two complete lines.
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
