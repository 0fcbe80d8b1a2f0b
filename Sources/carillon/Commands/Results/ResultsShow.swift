import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension ResultsCommand {
  /// The command `carillon results show`.
  struct Show: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract:
        "Show the outcome of a token or of all tokens of a user. Exits with 1 if the campaign has no such target.",
      discussion: """
        With --json, the lines have the format of `carillon results export`.

        Examples:
          carillon results show spring-sale-2026 --token 0f2c…
          carillon results show spring-sale-2026 --user 4711
        """)

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "The device token, in the form of its push service.") var token: String?
    @Option(help: "The user whose tokens are shown.") var user: String?

    func validate() throws {
      if (token == nil) == (user == nil) { throw ValidationError("Give either --token or --user.") }
    }

    func run() async throws {
      let user = try user.map(UserArgument.read)
      let store = try await global.openStore()
      guard let record = try await store.campaigns.find(id) else { throw try await CampaignLookup(store).notFound(id) }
      let services = try record.stageServices.map(PushServices.known.named)
      let results: [TargetResult]
      if let user {
        results = try await store.results.results(ofUser: user, in: id)
      } else {
        results = try await find(token ?? "", services, store)
      }
      guard !results.isEmpty else {
        throw CommandError(
          .notFound,
          (user.map { "user \(Excerpt.quoted($0)) had no target" } ?? "the token was not a target")
            + " of campaign \(Excerpt.quoted(id))",
          hint: "the user may not be in the audience; see: carillon devices show \(user ?? "USER")")
      }
      var writer = ResultWriter(
        campaign: id, services: services, groups: try await CampaignLookup(store).groups(of: id), format: .ndjson)
      if global.json {
        for result in results { writer.append(result) }
        var output = StandardOutput()
        try output.write(writer.take())
        return try output.flush()
      }
      let tables = results.map { result in
        TextTable(writer.row(result).map { [$0.name, $0.text.map(Excerpt.harmless) ?? "-"] }).text
      }
      try StandardOutput.printLine(tables.joined(separator: "\n\n"))
    }

    /// Returns the results of a token. The text may be a valid token of several services.
    private func find(
      _ token: String, _ services: [any PushService], _ store: CampaignStore
    ) async throws -> [TargetResult] {
      if !services.contains(where: { $0.token(token) != nil }) { _ = try services.first?.token(argument: token) }
      var results: [TargetResult] = []
      for service in services {
        guard let token = service.token(token) else { continue }
        if let result = try await store.results.result(of: token, service.name, in: id) { results.append(result) }
      }
      return results
    }
  }
}
