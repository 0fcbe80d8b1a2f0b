import ArgumentParser
import CampaignStore
import CommandSupport

extension QuarantineCommand {
  /// `carillon quarantine purge`.
  struct Purge: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes devices for good, and puts their tokens on the feedback list.",
      discussion: """
        A device that has registered since it came there stays. With --all you are asked first, or say --yes.

        Examples:
          carillon quarantine purge --campaign spring-sale
          carillon quarantine purge --all
        """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var selection: Selection
    @Flag(help: "Don't ask.") var yes = false

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let store = try await StoreConnection(configuration.redis).open(creating: false, changing: true)
      if selection.all { try await confirm(store, configuration) }
      let count = try await selection.change(store, configuration) { try await store.results.purge($0) }
      try QuarantineCommand.tell(count, "purged", json: global.json)
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
