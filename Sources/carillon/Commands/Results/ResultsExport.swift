import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension ResultsCommand {
  /// The command `carillon results export`.
  struct Export: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Write the outcome of each token of a campaign to standard output, one line per token.",
      discussion: """
        While a campaign runs, some tokens have no outcome yet. --json is the same as --format ndjson. With --control \
        the command writes the users of the control groups, who got no push. It writes one user per line, and `segment \
        import` can read this file.

        Examples:
          carillon results export spring-sale-2026 > results.ndjson
          carillon results export spring-sale-2026 --format csv --only unregistered
          carillon results export spring-sale-2026 --control > control.txt
        """)

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "ndjson or csv (default: ndjson).") var format: DeviceRowReader.Format?
    @Option(
      help: ArgumentHelp(
        "Only tokens with this outcome: " + Outcome.allCases.map(\.name).joined(separator: ", ") + ".",
        valueName: "outcome"))
    var only: Outcome?
    @Flag(help: "Put an apostrophe before cells that a spreadsheet would execute as a formula.")
    var spreadsheetSafe = false
    @Flag(help: "Write the users of the control groups instead.")
    var control = false

    func validate() throws {
      if control, only != nil || format != nil || spreadsheetSafe {
        throw ValidationError(
          "--control writes users, and users have no outcome: omit --only, --format and --spreadsheet-safe.")
      }
    }

    func run() async throws {
      let format = try global.exportFormat(self.format, standard: .ndjson)
      guard format == .csv || !spreadsheetSafe else {
        throw CommandError(.usage, "--spreadsheet-safe has no effect on JSON", hint: "add --format csv")
      }
      let store = try await global.openStore()
      guard let record = try await store.campaigns.show(id) else { throw try await CampaignLookup(store).notFound(id) }
      var output = StandardOutput()
      if control {
        try await store.expansion.forEachControlUser(of: id) { users in
          for user in users { try output.write(user, json: global.json) }
        }
        return try output.flush()
      }
      var writer = ResultWriter(
        campaign: id, services: try record.stageServices.map(PushServices.known.named),
        groups: try await CampaignLookup(store).groups(of: id), format: format, spreadsheetSafe: spreadsheetSafe)
      var bar = ProgressBar("exporting", unit: "results", total: record.counters.targets)
      var read = 0
      try await store.results.forEachResult(of: id) { results in
        for result in results where only == nil || result.outcome == only { writer.append(result) }
        try output.write(writer.take())
        read += results.count
        bar.update(done: read)
        return true
      }
      try output.write(writer.take())
      try output.flush()
      bar.finish()
    }
  }
}
