import ArgumentParser
import CommandSupport
import Foundation
import PushCore

extension DevicesCommand {
  /// `carillon devices import`.
  struct Import: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Imports devices from CSV or NDJSON.",
      discussion: """
        Columns: user and token, and any of service, kind, app, environment, locale, timezone, appVersion, osVersion, \
        registeredAt (RFC 3339 or milliseconds), lastSeen. Any other column is an attribute of the user. A token \
        belongs to one user: importing it for another moves it. A column that is nearly a known one, an app that the \
        configuration doesn't have, and a locale that is none are errors. A time zone is an IANA name or an offset such as \
        GMT+0530. An abbreviation such as PST and an unknown name are refused: the device is kept without a time zone, its \
        line is reported, and the exit status is 65.

        The service is apns unless given. The kind says what a token is for, alert unless given: \
        \(TokenKind.allCases.map(\.rawValue).joined(separator: ", ")). A campaign goes to tokens of the kind that its \
        push type needs.

        A device without app or environment gets the campaigns of every app, of the app's own environment. Without \
        registeredAt, any answer that the token is gone prunes it.

        A bad row is reported with its line and skipped; the good ones are in, and the exit status is 65.

        An import of a file that was interrupted, by SIGINT, by SIGKILL or because Redis was away, goes on with --resume \
        where it was: for a week, while the file stays as it is, and with the same --format and --app. What is in already \
        does no harm. Where none was interrupted it begins at the beginning.

        An export of another system is taken as it is with --from: its columns become ours, devices that are not Apple's \
        are left out and counted by the reason, and a column that nobody knows is named and left out, unless \
        --allow-attribute names it. --dry-run shows what would become of everything, and stores nothing: it needs no \
        Redis. Where the system has no app or environment to a device say --app.

        A user has at most redis.devicesPerUser devices: for another one the device leaves that was seen longest ago.

        Examples:
          carillon devices import devices.csv
          carillon devices import devices.ndjson --app news
          carillon devices import devices.csv --resume
          zcat devices.csv.gz | carillon devices import - --format csv
          carillon devices import users.csv --from onesignal --app news --dry-run
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The file; - is standard input.", completion: .file(extensions: ["csv", "ndjson"]))
    var file: String
    @Option(help: "csv or ndjson; by the file's name unless given.")
    var format: DeviceRowReader.Format?
    @Option(help: "The app of rows that name none.")
    var app: String?
    @Option(
      help: ArgumentHelp(
        "Whose export it is: \(ForeignSystem.allCases.map(\.rawValue).joined(separator: ", ")).", valueName: "system"))
    var from: ForeignSystem?
    @Option(
      help: ArgumentHelp("A column that is an attribute, though its name is nearly a known one's.", valueName: "name"))
    var allowAttribute: [String] = []

    @Flag(help: "Go on where an interrupted import of the same file was.")
    var resume = false
    @Flag(help: "Show what would be imported, and store nothing.")
    var dryRun = false

    func validate() throws {
      if dryRun, resume {
        throw ValidationError("--dry-run imports nothing that could be gone on with: leave --resume out")
      }
    }

    func run() async throws {
      let configuration = try global.loadConfiguration()
      if let app { try configuration.checkApp(app) }
      let format = try self.format ?? Self.format(of: file)
      let input = try InputFile(file)
      if resume, input.size == nil {
        throw CommandError(
          .usage, "\(input.path) can't be gone on with: what was read of it is gone",
          hint: "import a file, or all of it again: that is safe")
      }
      let vocabulary = DeviceVocabulary(
        services: .known, apps: Set(configuration.apps.keys), allowedAttributes: Set(allowAttribute),
        now: Int(Date.now.timeIntervalSince1970 * 1000))
      let reader = DeviceRowReader(format: format, vocabulary, from: from)
      if dryRun {
        var run = DeviceDryRun(input: input, reader: reader, app: app, services: .known, isJSON: global.json)
        try run.read()
        try StandardOutput.printLine(global.json ? run.json : run.text)
        if !run.report.isClean { throw ExitCode(CommandError.Code.input.exitStatus) }
        return
      }
      let store = try await StoreConnection(configuration.redis).open(creating: true, changing: true)
      var run = DeviceImportRun(
        input: input, reader: reader, store: store, app: app ?? "", isJSON: global.json)
      do {
        try await run.begin(format: format, from: from, resuming: resume)
        try await run.read()
      } catch {
        var failure = CommandError(error)
        // A file that is refused before its first row is read once more from its beginning.
        guard run.report.rows > 0 else { throw failure }
        let next = run.isResumable ? "go on with: \(resumption)" : "importing again is safe"
        // What was under way when it failed is not counted, though it may be in.
        failure.hint = (failure.hint.map { $0 + "; " } ?? "") + "\(run.report.imported.grouped) rows are in; \(next)"
        throw failure
      }
      try StandardOutput.printLine(global.json ? run.report.json : run.report.text(of: input.path))
      if !run.report.isClean { throw ExitCode(CommandError.Code.input.exitStatus) }
    }

    /// The command that goes on with this import.
    private var resumption: String {
      var words = ["carillon"]
      if let config = global.config { words += ["--config", config] }
      words += ["devices", "import", file]
      if let format { words += ["--format", format.rawValue] }
      if let app { words += ["--app", app] }
      if let from { words += ["--from", from.rawValue] }
      for name in allowAttribute { words += ["--allow-attribute", name] }
      return (words + ["--resume"]).map(Self.shellWord).joined(separator: " ")
    }

    /// A word as a shell takes it for one.
    private static func shellWord(_ word: String) -> String {
      let isPlain = word.utf8.allSatisfy { PlainName.isLetter($0) || $0 == UInt8(ascii: "/") }
      return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: #"'\''"#) + "'"
    }

    private static func format(of file: String) throws -> DeviceRowReader.Format {
      let name = file.lowercased()
      if name.hasSuffix(".csv") { return .csv }
      if [".ndjson", ".jsonl", ".json"].contains(where: name.hasSuffix) { return .ndjson }
      throw CommandError(
        .usage, "can't tell by its name whether \(Excerpt.quoted(file)) is CSV or NDJSON",
        hint: "say so: --format csv or --format ndjson")
    }
  }
}

extension CarillonConfiguration {
  /// Refuses an app that the configuration doesn't have.
  func checkApp(_ name: String) throws(CommandError) {
    guard apps[name] == nil else { return }
    throw CommandError(
      .input, "no app \(Excerpt.quoted(name)) in the configuration", hint: Nearest.hint(name, among: apps.keys))
  }
}
