import ArgumentParser
import CampaignStore
import CommandSupport

extension QuarantineCommand {
  /// The command `carillon quarantine purge`.
  struct Purge: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "purge",
      abstract: "Remove devices in quarantine and add their tokens to the feedback list. This can't be undone.",
      discussion: """
        If a device has registered again in the meantime, it is not removed. With --all the command asks for \
        confirmation, unless --yes is given.

        Examples:
          carillon quarantine purge --campaign spring-sale
          carillon quarantine purge --all
        """)

    static let effect = Effect.changes([.quarantinePurge])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var selection: Selection
    @Flag(help: "Don't ask for confirmation.") var yes = false

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let store = try await StoreConnection(configuration.redis).open(creating: false, changing: true)
      if selection.all { try await confirm(store, configuration) }
      let count = try await selection.change(.quarantinePurge, store, configuration) {
        try await store.results.purge($0)
      }
      try QuarantineCommand.printCount(count, "purged", json: global.json)
    }

    private func confirm(_ store: CampaignStore, _ configuration: CarillonConfiguration) async throws {
      var count = 0
      try await selection.forEachPage(store, configuration) { page in
        count += page.count
        return true
      }
      guard count > 0 else { return }
      try Confirmation.obtain(
        yes, for: "this removes \(count == 1 ? "1 device" : "\(count.grouped) devices") for good",
        refusal: "nothing was removed")
    }
  }
}
