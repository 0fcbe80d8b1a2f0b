import ArgumentParser
import CampaignStore
import CommandSupport

extension QuarantineCommand {
  /// `carillon quarantine purge`.
  struct Purge: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes devices for good, and puts their tokens on the feedback list.",
      discussion: """
        A device that has registered since it came there stays.

        Examples:
          carillon quarantine purge --campaign spring-sale
          carillon quarantine purge --all
        """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var selection: Selection

    func run() async throws {
      let store = try await global.openStore()
      let count = try await selection.change(store) { try await store.purge($0) }
      try QuarantineCommand.tell(count, "purged", json: global.json)
    }
  }
}
