import ArgumentParser
import CommandSupport
import Foundation
import Glibc
import PushCore
import ServiceTools

/// The command `carillon init`.
struct InitCommand: AuditedCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Write a configuration file from options or from answers to questions, then check it.",
    discussion: """
      On a terminal, the command asks for missing options. Otherwise, options without a default are required. The \
      command never replaces a file. At the end, it runs `carillon doctor` with the new configuration and exits with \
      the same status.

      Paths in options are relative to the working directory. The command converts them to paths relative to the file.

      Examples:
        carillon init
        carillon init --app news --topic com.example.news --key-file AuthKey_ABC123DEFG.p8 --team-id DEF123GHIJ
        carillon init --app news --topic com.example.news --certificate push.p12 --passphrase-file push.pass
        carillon init --app news --service fcm --service-account-file service-account.json
      """)

  static let effect = Effect.unrecorded

  @OptionGroup var global: GlobalOptions
  @Option(
    help: ArgumentHelp("The file to write (default: --config or CARILLON_CONFIG).", valueName: "file"))
  var output: String?
  @Option(help: ArgumentHelp("The URL of Redis (default: CARILLON_REDIS_URL).", valueName: "url"))
  var redis: String?
  @Option(help: ArgumentHelp("The Redis user.", valueName: "name")) var redisUser: String?
  @Option(help: ArgumentHelp("A file with the Redis password in its first line.", valueName: "file"))
  var redisPasswordFile: String?
  @Option(help: ArgumentHelp("The first part of every key in Redis.", valueName: "name")) var namespace: String?
  @Option(help: ArgumentHelp("The app's name in jobs.", valueName: "name")) var app: String?
  @Option(
    help: ArgumentHelp(
      "The push service: apns or fcm (default: each that has an option, otherwise apns).", valueName: "name"))
  var service: String?
  @OptionGroup var apns: APNsInitOptions
  @OptionGroup var fcm: FCMInitOptions

  func run() async throws {
    let named = EnvironmentOverlay.file(ProcessInfo.processInfo.environment)
    let file = output ?? global.config ?? named ?? ConfigurationLoader.defaultFile
    // Check this before the first question, so that the user does not answer questions without effect.
    guard access(file, F_OK) != 0 else {
      throw CommandError(.input, "\(file) already exists", hint: "move it away, or choose another file with --output")
    }
    // isatty(3) returns 1 for a terminal.
    let asks = !global.json && isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1
    var ask: ((String, String?) throws -> String)?
    if asks { ask = { question, standard in try Question.ask(question, standard: standard) } }
    let draft = try self.draft(for: file, asking: ask)
    try draft.check(file: file)
    for named in draft.files + [redisPasswordFile].compactMap(\.self) {
      // access(2) returns 0 if the file is readable. The configuration is written only if all files that it names are
      // readable.
      guard access(named, R_OK) == 0 else {
        throw CommandError(
          .input, "\(named): \(String(cString: strerror(errno)))",
          hint: "nothing was written; choose a file that exists and is readable")
      }
    }
    try draft.write(to: file)
    var options = global
    options.config = file
    let report = await Doctor(global: options).report()
    if !global.json {
      try StandardOutput.printLine("wrote \(file)\n")
    }
    try StandardOutput.printLine(global.json ? report.json : report.text)
    if !report.isHealthy { throw ExitCode(CommandError.Code.failed.exitStatus) }
  }

  /// Returns the configuration from options and answers.
  ///
  /// - Parameter ask: asks a question; its second argument is the default answer. `nil` without a terminal.
  func draft(
    for file: String, asking ask: ((_ question: String, _ standard: String?) throws -> String)?
  ) throws -> ConfigurationDraft {
    var draft = ConfigurationDraft()
    let tools = try serviceTools()
    var options = apns.values.merging(fcm.values) { $1 }
    options["redis"] = redis
    options["app"] = app
    let interview = SetupInterview(options: options, ask: ask) { Self.path($0, from: file) }
    // All commands, including the checks at the end of this command, use the URL of the environment, so it is the
    // default here. A URL with a password is not copied into the file.
    let environment = ProcessInfo.processInfo.environment["CARILLON_REDIS_URL"]
      .flatMap { $0.isEmpty || $0.contains("@") ? nil : $0 }
    draft.redisURL = try interview.answer("redis", "Where is Redis?", standard: environment ?? draft.redisURL)
    draft.redisUser = redisUser
    draft.redisPasswordFile = redisPasswordFile.map(interview.path)
    draft.namespace = namespace ?? draft.namespace
    draft.app = try interview.answer(
      "app", "What is the app's name in jobs?", standard: interview.asks ? "news" : nil)
    for tools in tools { draft.services.append((tools.service.name, try tools.setUp(interview))) }
    return draft
  }

  /// Returns the tools of the app's push services: the services for which an option is given, or the service of
  /// `--service`.
  private func serviceTools() throws(CommandError) -> [any PushServiceTools] {
    let known = KnownServices.all
    let values = ["apns": apns.values, "fcm": fcm.values]
    guard let service else {
      let named = known.tools.filter { values[$0.service.name]?.isEmpty == false }
      return named.isEmpty ? [known.standard] : named
    }
    guard let tools = known[service] else {
      throw CommandError(
        .usage, "--service: there is no push service \(Excerpt.quoted(service))",
        hint: Nearest.hint(service, among: known.names))
    }
    if let other = values.filter({ $0.key != service }).flatMap(\.value.keys).min() {
      throw CommandError(
        .usage, "--\(other) is not an option of \(tools.service.title)",
        hint: "remove it, or omit --service: then the app gets each service that has an option")
    }
    return [tools]
  }

  /// Converts a path relative to the working directory into a path relative to the file. An absolute path becomes
  /// relative if it is below the file's folder.
  static func path(_ path: String, from file: String) -> String {
    if path.hasPrefix("/") || file.hasPrefix("/"), let below = pathBelow(path, file) { return below }
    guard !path.hasPrefix("/"), file.contains("/") else { return path }
    let folder = file.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    // If the file's folder is a plain relative path, `..` leads from it to the working directory. Otherwise, an
    // absolute path is necessary.
    if !file.hasPrefix("/"), !folder.contains(".."), !folder.contains("") {
      return String(repeating: "../", count: folder.filter { $0 != "." }.count) + path
    }
    return absolute(path) ?? path
  }

  /// Returns the path of a file below the folder of another file; `nil` if the path is not below the folder. The result
  /// is also `nil` for a path with `..`, because `..` after a symbolic link leads to another folder.
  private static func pathBelow(_ path: String, _ file: String) -> String? {
    guard let target = absolute(path)?.split(separator: "/").filter({ $0 != "." }),
      let folder = absolute(file)?.split(separator: "/").filter({ $0 != "." }).dropLast(),
      !target.contains(".."), !folder.contains(".."), target.count > folder.count, target.starts(with: folder)
    else { return nil }
    return target.dropFirst(folder.count).joined(separator: "/")
  }

  /// Returns a path from the root; `nil` if the working directory is not known.
  private static func absolute(_ path: String) -> String? {
    guard !path.hasPrefix("/") else { return path }
    var buffer = [CChar](repeating: 0, count: 4097)
    // getcwd(3) returns null if the path does not fit into the buffer, or if the folder no longer exists.
    guard getcwd(&buffer, buffer.count - 1) != nil else { return nil }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) + "/" + path
  }
}

/// A question on a terminal.
private enum Question {
  static func ask(_ question: String, standard: String?) throws -> String {
    while true {
      StandardError.write(question + (standard.map { " [\($0)]" } ?? "") + " ")
      guard let line = readLine() else {
        throw CommandError(
          .usage, "standard input ended before all questions were answered",
          hint: "use options instead: carillon init --help")
      }
      let answer = line.drop { $0 == " " }
      if !answer.isEmpty { return String(answer) }
      if let standard { return standard }
    }
  }
}
