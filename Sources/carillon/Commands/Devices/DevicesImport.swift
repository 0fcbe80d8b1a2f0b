import ArgumentParser
import CommandSupport
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
        configuration doesn't have, and a locale that is none are errors.

        The service is apns unless given. The kind says what a token is for, alert unless given: \
        \(TokenKind.allCases.map(\.rawValue).joined(separator: ", ")). A campaign goes to tokens of the kind that its \
        push type needs.

        A device without app or environment gets the campaigns of every app, of the app's own environment. Without \
        registeredAt, any answer that the token is gone prunes it.

        A bad row is reported with its line and skipped; the good ones are in, and the exit status is 65.

        Examples:
          carillon devices import devices.csv
          carillon devices import devices.ndjson --app news
          zcat devices.csv.gz | carillon devices import - --format csv
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The file; - is standard input.", completion: .file(extensions: ["csv", "ndjson"]))
    var file: String
    @Option(help: "csv or ndjson; by the file's name unless given.")
    var format: DeviceRowReader.Format?
    @Option(help: "The app of rows that name none.")
    var app: String?
    @Option(
      help: ArgumentHelp("A column that is an attribute, though its name is nearly a known one's.", valueName: "name"))
    var allowAttribute: [String] = []

    func run() async throws {
      let configuration = try global.loadConfiguration()
      if let app { try configuration.checkApp(app) }
      let format = try self.format ?? Self.format(of: file)
      let input = try InputFile(file)
      let store = try await StoreConnection(configuration.redis).open(creating: true)
      var report = ImportReport(outdated: 0)
      var devices = DeviceImport(store: store, app: app ?? "")
      do {
        let vocabulary = DeviceVocabulary(
          services: .known, apps: Set(configuration.apps.keys), allowedAttributes: Set(allowAttribute))
        try await read(input, format, vocabulary, into: &devices, &report)
      } catch {
        var failure = CommandError(error)
        // What was under way when it failed is not counted, though it may be in.
        failure.hint =
          (failure.hint.map { $0 + "; " } ?? "") + "\(devices.imported) rows are in; importing again is safe"
        throw failure
      }
      report.imported = devices.imported
      report.outdated = devices.outdated
      try StandardOutput.printLine(global.json ? report.json : report.text(of: input.path))
      if report.skipped > 0 { throw ExitCode(CommandError.Code.input.exitStatus) }
    }

    private func read(
      _ input: InputFile, _ format: DeviceRowReader.Format, _ vocabulary: DeviceVocabulary,
      into devices: inout DeviceImport,
      _ report: inout ImportReport
    ) async throws {
      var reader = DeviceRowReader(format: format, vocabulary)
      var bar = ProgressBar("importing", unit: "rows", total: nil)
      var bytes = 0
      while true {
        let chunk = try input.read()
        for row in chunk.isEmpty ? try reader.finish() : try reader.read(chunk) {
          switch row {
          case .success(let row):
            report.rows += 1
            try await devices.add(row)
          case .failure(let error):
            bar.finish()
            report.skip(line: error.line, error.message, of: input.path, json: global.json)
          }
        }
        if chunk.isEmpty { break }
        bytes += chunk.count
        // The number of rows is not known before the end; that the rest is like what was read is a good guess.
        bar.update(done: report.rows, total: input.size.map { report.rows * max($0, bytes) / bytes })
      }
      try await devices.finish()
      bar.finish()
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
