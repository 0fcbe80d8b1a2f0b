import ArgumentParser
import CampaignStore
import CommandSupport

extension QuarantineCommand {
  /// The command `carillon quarantine release`.
  struct Release: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "release",
      abstract: "Release devices from quarantine, for example after you fixed a wrong environment or topic.",
      discussion: """
        Examples:
          carillon quarantine release --campaign spring-sale
          carillon quarantine release --app news
        """)

    static let effect = Effect.changes([.quarantineRelease])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var selection: Selection

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let store = try await StoreConnection(configuration.redis).open(creating: false, changing: true)
      let count = try await selection.change(.quarantineRelease, store, configuration) {
        try await store.results.release($0)
      }
      try QuarantineCommand.printCount(count, "released", json: global.json)
    }
  }
}
