import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension CampaignCommand {
  /// The command `carillon campaign vars`.
  struct Vars: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "vars", abstract: "Upload per-user values for a job before you submit it.",
      discussion: """
        Each line of the file is an object: {"user":"ada","vars":{"price":12.5}}; the file can have any size. The job \
        needs "vars": true. Its texts use the values as placeholders, such as {{price}}. Carillon stores the values \
        for eight days. The command reports and skips a bad line, stores the good lines, and exits with 65.

        Examples:
          carillon campaign vars spring-sale values.ndjson
          carillon campaign submit spring-sale.json
        """)

    static let effect = Effect.changes([.campaignValues])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Argument(help: "An NDJSON file; - is standard input.", completion: .file()) var file: String

    func run() async throws {
      guard PlainName.isValid(id) else {
        throw CommandError(.input, "\(Excerpt.quoted(id)) is not a campaign id", hint: "it must be \(PlainName.form)")
      }
      let input = try InputFile(file)
      let store = try await global.openStore(creating: true)
      var report = ImportReport()
      try await read(input, into: store, &report)
      await AuditTrail(store).record(.commandLine, .campaignValues, id, detail: "\(report.imported) users")
      try StandardOutput.printLine(global.json ? report.json : report.text(of: input.path))
      if report.skipped > 0 { throw ExitCode(CommandError.Code.input.exitStatus) }
    }

    private func read(_ input: InputFile, into store: CampaignStore, _ report: inout ImportReport) async throws {
      var lines = LineReader(input, maximumLength: JobRecipient.maximumLineBytes)
      var bar = ProgressBar("importing", unit: "users", total: nil)
      defer { bar.finish() }
      var values: [(user: String, json: [UInt8])] = []
      while true {
        let page = try lines.read()
        for line in page {
          guard let text = line.text else {
            report.skip(
              line: line.number, "longer than \(JobRecipient.maximumLineBytes) bytes, or not UTF-8", of: input.path,
              json: global.json)
            continue
          }
          if text.allSatisfy(\.isWhitespace) { continue }
          do {
            let (user, json) = try JobRecipient.line(text)
            report.rows += 1
            values.append((user, json))
          } catch {
            bar.finish()
            report.skip(line: line.number, error.reason, of: input.path, json: global.json)
          }
          if values.count == Queue.maximumValues { try await put(&values, to: store, &report) }
        }
        if page.isEmpty { return try await put(&values, to: store, &report) }
        bar.update(done: report.rows)
      }
    }

    private func put(
      _ values: inout [(user: String, json: [UInt8])], to store: CampaignStore, _ report: inout ImportReport
    ) async throws {
      try await store.queue.put(values, of: id)
      report.imported += values.count
      values.removeAll(keepingCapacity: true)
    }
  }
}
