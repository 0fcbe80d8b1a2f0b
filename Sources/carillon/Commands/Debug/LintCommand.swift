import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore
import ServiceTools

/// The command `carillon lint`.
struct LintCommand: AuditedCommand {
  static let configuration = CommandConfiguration(
    commandName: "lint",
    abstract: "Check a payload or a job before it is sent.",
    discussion: """
      For a job, the command checks all fields. For a payload, --type is the push type; the default depends on the \
      payload's keys. With a configuration, the command also checks the apps. It looks up the templates, segments and \
      attributes of a job in Redis. If Redis can't be reached, one line lists the skipped checks. If a file was \
      written for Apple's old binary interface (gateway, port 2195, limit of 2 kB), the findings name the \
      replacements. For a recurring job, the command shows the next five runs in the job's time zone. --rules prints \
      every rule.

      Exits with 0 if the command finds no error (a warning is not an error), 1 if it finds an error, and 65 if the \
      file is not JSON.

      Examples:
        carillon lint job.json
        carillon lint --type background payload.json
        echo '{"aps":{"alert":"Hello","bagde":1}}' | carillon lint -
      """)

  /// Maximum number of bytes to read. It is larger than the size limit of a job, so that the error for a job that is
  /// too large can contain its size.
  private static let readLimit = 64 * CampaignJob.maximumSize

  static let effect = Effect.reads

  @OptionGroup var global: GlobalOptions
  @Argument(help: "A payload or a job in JSON; - is standard input.", completion: .file(extensions: ["json"]))
  var file: String?
  @Option(help: "The push type of a payload.") var type: PushTypeName?
  @Option(help: "The app of a payload, by its name in the configuration.") var app: String?
  @Flag(help: "Print the rules, with their sources.") var rules = false

  func validate() throws {
    if rules == (file != nil) { throw ValidationError("Give either a FILE, with - for standard input, or --rules.") }
  }

  func run() async throws {
    guard let file else { return try StandardOutput.printLine(global.json ? RuleList.json : RuleList.text) }
    let bytes = try InputFile.contents(file, limit: Self.readLimit)
    let (lint, unchecked) = try await lint(bytes)
    var report = LintReport(file: file == "-" ? "standard input" : file, lint: lint, unchecked: unchecked)
    if report.lint.kind == .job {
      report.runs = NextRuns(bytes, zones: zones, now: Int(Date.now.timeIntervalSince1970))
    }
    try StandardOutput.printLine(global.json ? report.json : report.text)
    if !report.lint.findings(.error).isEmpty { throw ExitCode(CommandError.Code.failed.exitStatus) }
  }

  private func lint(_ bytes: [UInt8]) async throws -> (PushLint, unchecked: String?) {
    let now = Int(Date.now.timeIntervalSince1970)
    do {
      let all = JobApps.any(KnownServices.all.tools.map(\.service))
      let tools = KnownServices.all.tools(for: bytes, app: nil, all)
      let lint = try JobLint.lint(
        bytes, resolved: nil, as: type?.name, app: nil, tools, .any(tools.map(\.service)), now: now)
      guard lint.kind == .job || app != nil, let apps = try apps() else { return (lint, nil) }
      let job = try await JobLint(bytes, as: type?.name, app: app, apps: apps, now: now) {
        try await global.openStore()
      }
      return (job.lint, job.unchecked)
    } catch let error as JSONSyntaxError {
      throw CommandError(
        .input, "\(file ?? ""): not valid JSON: \(error)",
        hint: "use a payload such as {\"aps\":{\"alert\":\"Hello\"}}, or a job")
    }
  }

  /// The time zone database of the configured workers; the database of the system without a configuration.
  private var zones: ZoneDatabase {
    guard let folder = try? global.loadConfiguration().worker.zoneinfo else { return .system }
    return ZoneDatabase(folder: folder)
  }

  /// Returns the apps of the configuration; `nil` if the configuration does not exist and none of the options needs it.
  private func apps() throws -> JobApps? {
    let named = global.config ?? EnvironmentOverlay.file(ProcessInfo.processInfo.environment)
    let exists = FileManager.default.fileExists(atPath: ConfigurationLoader.defaultFile)
    guard app != nil || exists || named.map({ !$0.isEmpty }) == true else { return nil }
    let configuration = try global.loadConfiguration()
    if let app { try configuration.checkApp(app) }
    return configuration.jobApps()
  }
}
