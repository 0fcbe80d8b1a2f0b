import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore

extension DevicesCommand {
  /// The command `carillon devices import`.
  struct Import: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "import", abstract: "Import devices from CSV or NDJSON.",
      discussion: """
        Required columns: user, token. Optional columns: service, kind, app, environment, locale, timezone, \
        appVersion, osVersion, registeredAt (RFC 3339 or milliseconds), lastSeen. Any other column is an attribute of \
        the user. A token belongs to one user. If you import it for another user, the token moves to that user. These \
        are errors: a column whose name is similar to a known name, an app that is not in the configuration, and an \
        invalid locale. A time zone is an IANA name or an offset such as GMT+0530. If it is an abbreviation such as \
        PST or an unknown name, the command stores the device without a time zone, reports the line, and exits with \
        65.

        The column service is required if the app has several services. The kind is the purpose of the token (default: \
        alert): \(TokenKind.allCases.map(\.rawValue).joined(separator: ", ")). A campaign is sent to tokens of the \
        kind that its push type needs.

        A device without an app gets the campaigns of every app. A device without an environment belongs to the app's \
        environment. When APNs answers that a token is unregistered, a device without registeredAt is always removed. \
        A device with registeredAt is removed only if it registered before the time in the answer.

        The command reports and skips a bad row, imports the good rows, and exits with 65.

        --resume continues an import that was interrupted by SIGINT, by SIGKILL or by an outage of Redis. This is \
        possible for a week if the file, --format and --app are unchanged. Importing a row twice is safe. If no import \
        of the file was interrupted, the import starts at the first row.

        --from reads the export of another system and maps its columns. The command imports Apple devices if the app \
        uses APNs, and Android devices if the app uses FCM. It leaves out all other devices and counts them by reason. \
        It reports and leaves out an unknown column, unless --allow-attribute names the column. --dry-run shows the \
        result, stores nothing and needs no Redis. If the export has no app for each device, use --app.

        A user can have at most redis.devicesPerUser devices. A further device replaces the one that was seen longest \
        ago.

        Examples:
          carillon devices import devices.csv
          carillon devices import devices.ndjson --app news
          carillon devices import devices.csv --resume
          zcat devices.csv.gz | carillon devices import - --format csv
          carillon devices import users.csv --from onesignal --app news --dry-run
        """)

    static let effect = Effect.changes([.deviceImport])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "A CSV or NDJSON file; - is standard input.", completion: .file(extensions: ["csv", "ndjson"]))
    var file: String
    @Option(help: "csv or ndjson (default: by the file's extension).")
    var format: DeviceRowReader.Format?
    @Option(help: "The app for rows that name no app.")
    var app: String?
    @Option(
      help: ArgumentHelp(
        "The system that wrote the export: \(ForeignSystem.allCases.map(\.rawValue).joined(separator: ", ")).",
        valueName: "system"))
    var from: ForeignSystem?
    @Option(
      help: ArgumentHelp(
        "Accept this column as an attribute, although its name is similar to a known one, or --from does not know it.",
        valueName: "name"))
    var allowAttribute: [String] = []

    @Flag(help: "Continue an interrupted import of the same file.")
    var resume = false
    @Flag(help: "Show the result of the import, but store nothing.")
    var dryRun = false

    func validate() throws {
      if dryRun, resume {
        throw ValidationError("--dry-run and --resume can't be combined: remove --resume.")
      }
    }

    func run() async throws {
      let configuration = try global.loadConfiguration()
      if let app { try configuration.checkApp(app) }
      let format = try self.format ?? Self.format(of: file)
      let input = try InputFile(file)
      if resume, input.size == nil {
        throw CommandError(
          .usage, "--resume can't be used with \(input.path): it is not a file, so finished rows can't be skipped",
          hint: "import a file, or import everything again: that is safe")
      }
      let vocabulary = DeviceVocabulary(
        services: .known(apps: configuration.appServices), apps: Set(configuration.apps.keys), app: app,
        allowedAttributes: Set(allowAttribute),
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
        // If the file is refused before its first row, the import has no position from which it could continue.
        guard run.report.rows > 0 else { throw failure }
        if failure.code != .unreachable { await audit(run.report.imported, store) }
        let next = run.isResumable ? "continue with: \(resumption)" : "importing again is safe"
        // Rows that were in flight when the import failed are not counted, although Redis may have stored them.
        failure.hint =
          (failure.hint.map { $0 + "; " } ?? "") + "\(run.report.imported.grouped) rows are imported; \(next)"
        throw failure
      }
      await audit(run.report.imported, store)
      try StandardOutput.printLine(global.json ? run.report.json : run.report.text(of: input.path))
      if !run.report.isClean { throw ExitCode(CommandError.Code.input.exitStatus) }
    }

    private func audit(_ devices: Int, _ store: CampaignStore) async {
      await AuditTrail(store).record(.deviceImport, devices: devices, of: app, by: .commandLine)
    }

    /// The command that continues this import.
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

    /// Returns a word, in quotes if a shell needs them.
    private static func shellWord(_ word: String) -> String {
      let isPlain = word.utf8.allSatisfy { PlainName.isLetter($0) || $0 == UInt8(ascii: "/") }
      return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: #"'\''"#) + "'"
    }

    private static func format(of file: String) throws -> DeviceRowReader.Format {
      let name = file.lowercased()
      if name.hasSuffix(".csv") { return .csv }
      if [".ndjson", ".jsonl", ".json"].contains(where: name.hasSuffix) { return .ndjson }
      throw CommandError(
        .usage, "the name \(Excerpt.quoted(file)) does not show whether the file is CSV or NDJSON",
        hint: "add --format csv or --format ndjson")
    }
  }
}

extension CarillonConfiguration {
  /// Throws an error if the configuration has no app with this name.
  func checkApp(_ name: String) throws(CommandError) {
    guard apps[name] == nil else { return }
    throw CommandError(
      .input, "no app \(Excerpt.quoted(name)) in the configuration", hint: Nearest.hint(name, among: apps.keys))
  }
}
