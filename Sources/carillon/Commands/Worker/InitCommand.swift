import ArgumentParser
import CommandSupport
import Foundation
import Glibc
import PushCore
import ServiceTools

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
  @OptionGroup var apns: APNsInitOptions

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
    for named in draft.settings.files + [redisPasswordFile].compactMap(\.self) {
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
    var options = apns.values
    options["redis"] = redis
    options["app"] = app
    let interview = SetupInterview(options: options, ask: ask) { Self.path($0, from: file) }
    // Where the environment names one, all commands use that, the doctor at the end too. A password stays out of files.
    let environment = ProcessInfo.processInfo.environment["CARILLON_REDIS_URL"]
      .flatMap { $0.isEmpty || $0.contains("@") ? nil : $0 }
    draft.redisURL = try interview.answer("redis", "Where is Redis?", standard: environment ?? draft.redisURL)
    draft.redisUser = redisUser
    draft.redisPasswordFile = redisPasswordFile.map(interview.path)
    draft.namespace = namespace ?? draft.namespace
    draft.app = try interview.answer(
      "app", "What shall jobs call the app?", standard: interview.asks ? "news" : nil)
    draft.settings = try KnownServices.all.standard.setUp(interview)
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
