import ArgumentParser
import CommandSupport
import Foundation
import Glibc
import PushCore

/// `carillon init`.
struct InitCommand: CarillonCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Writes a configuration from options or a few questions, and says what is left to do.",
    discussion: """
      On a terminal it asks for what the options leave out; elsewhere they have to say it all. It never replaces a file. \
      It ends with what `carillon doctor` says of the new one, and exits as that does.

      Paths are relative to where it runs, and are written so that they lead there from the file.

      Examples:
        carillon init
        carillon init --app news --topic com.example.news --key-file AuthKey_ABC123DEFG.p8 --team-id DEF123GHIJ
        carillon init --app news --topic com.example.news --certificate push.p12 --passphrase-file push.pass
      """)

  @OptionGroup var global: GlobalOptions
  @Option(
    help: ArgumentHelp("Where it is written; what --config or CARILLON_CONFIG says unless given.", valueName: "file"))
  var output: String?
  @Option(help: ArgumentHelp("Where Redis is; what CARILLON_REDIS_URL says unless given.", valueName: "url"))
  var redis: String?
  @Option(help: ArgumentHelp("The user to log in to Redis as.", valueName: "name")) var redisUser: String?
  @Option(help: ArgumentHelp("A file whose first line is Redis' password.", valueName: "file"))
  var redisPasswordFile: String?
  @Option(help: ArgumentHelp("First part of every key in Redis.", valueName: "name")) var namespace: String?
  @Option(help: ArgumentHelp("What jobs call the app.", valueName: "name")) var app: String?
  @Option(help: ArgumentHelp("Its bundle id.", valueName: "id")) var topic: String?
  @Option(help: "production or sandbox.") var environment: String?
  @Option(help: ArgumentHelp("The signing key, a .p8 file.", valueName: "file")) var keyFile: String?
  @Option(help: ArgumentHelp("Its id; by the file's name unless given.", valueName: "id")) var keyID: String?
  @Option(help: ArgumentHelp("The id of the team at Apple.", valueName: "id")) var teamID: String?
  @Option(help: ArgumentHelp("A push certificate instead of a key.", valueName: "file")) var certificate: String?
  @Option(help: ArgumentHelp("A file whose first line is its passphrase.", valueName: "file"))
  var passphraseFile: String?

  func run() async throws {
    let named = EnvironmentOverlay.file(ProcessInfo.processInfo.environment)
    let file = output ?? global.config ?? named ?? ConfigurationLoader.defaultFile
    // Before anybody answers a question.
    guard access(file, F_OK) != 0 else {
      throw CommandError(.input, "\(file) is there already", hint: "move it away, or name another with --output")
    }
    // isatty(3): 1 for a terminal.
    let asks = !global.json && isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1
    var ask: ((String, String?) throws -> String)?
    if asks { ask = { question, standard in try Question.ask(question, standard: standard) } }
    let draft = try self.draft(for: file, asking: ask)
    try draft.check(file: file)
    for named in [keyFile, certificate, passphraseFile, redisPasswordFile].compactMap(\.self) {
      // access(2): whether it can be read; the file that would name it is not written before it can.
      guard access(named, R_OK) == 0 else {
        throw CommandError(
          .input, "\(named): \(String(cString: strerror(errno)))",
          hint: "nothing was written; name a file that is there")
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
    if !report.isWell { throw ExitCode(CommandError.Code.failed.exitStatus) }
  }

  /// What options and answers come to.
  ///
  /// - Parameter ask: asks a question, with what an empty answer means; `nil` where there is nobody.
  func draft(
    for file: String, asking ask: ((_ question: String, _ standard: String?) throws -> String)?
  ) throws -> ConfigurationDraft {
    var draft = ConfigurationDraft()
    func answer(_ option: String?, _ name: String, _ question: String, standard: String? = nil) throws -> String {
      if let option { return option }
      if let ask { return try ask(question, standard) }
      guard let standard else {
        throw CommandError(
          .usage, "--\(name) is missing", hint: "on a terminal carillon init asks; see carillon init --help")
      }
      return standard
    }
    // Where the environment names one, all commands use that, the doctor at the end too. A password stays out of files.
    let environment = ProcessInfo.processInfo.environment["CARILLON_REDIS_URL"]
      .flatMap { $0.isEmpty || $0.contains("@") ? nil : $0 }
    draft.redisURL = try answer(redis, "redis", "Where is Redis?", standard: environment ?? draft.redisURL)
    draft.redisUser = redisUser
    draft.redisPasswordFile = redisPasswordFile.map { Self.path($0, from: file) }
    draft.namespace = namespace ?? draft.namespace
    draft.app = try answer(app, "app", "What shall jobs call the app?", standard: ask == nil ? nil : "news")
    draft.topic = try answer(topic, "topic", "What is its bundle id?")
    draft.environment = try answer(
      environment, "environment", "production, or sandbox for development builds?", standard: "production")
    if let certificate {
      guard keyFile == nil, keyID == nil, teamID == nil else {
        throw CommandError(
          .usage, "--certificate stands beside a key", hint: "keep one of the two: a key serves all apps")
      }
      draft.certificateFile = Self.path(certificate, from: file)
      draft.passphraseFile = passphraseFile.map { Self.path($0, from: file) }
      return draft
    }
    let key = try answer(keyFile, "key-file", "Where is the signing key, AuthKey_….p8?")
    draft.keyFile = Self.path(key, from: file)
    draft.keyID = try answer(
      keyID, "key-id", "What is the key's id?", standard: ConfigurationDraft.keyID(ofFile: key))
    draft.teamID = try answer(teamID, "team-id", "What is the team's id (developer.apple.com, Membership)?")
    return draft
  }

  /// A path as the file has it, which is relative to the file.
  static func path(_ path: String, from file: String) -> String {
    guard !path.hasPrefix("/"), file.contains("/") else { return path }
    let folder = file.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    // Up and down again where that is plain; else from the root.
    if !file.hasPrefix("/"), !folder.contains(".."), !folder.contains("") {
      return String(repeating: "../", count: folder.filter { $0 != "." }.count) + path
    }
    var buffer = [CChar](repeating: 0, count: 4097)
    // getcwd(3): null when it does not fit, or the folder is gone.
    guard getcwd(&buffer, buffer.count - 1) != nil else { return path }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) + "/" + path
  }
}

/// A question to somebody at a terminal.
private enum Question {
  static func ask(_ question: String, standard: String?) throws -> String {
    while true {
      StandardError.write(question + (standard.map { " [\($0)]" } ?? "") + " ")
      guard let line = readLine() else {
        throw CommandError(
          .usage, "the questions have not been answered", hint: "say it by options: carillon init --help")
      }
      let answer = line.drop { $0 == " " }
      if !answer.isEmpty { return String(answer) }
      if let standard { return standard }
    }
  }
}
