import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension DeadCommand {
  /// `carillon dead retry`.
  struct Retry: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Puts jobs back into the queue, and takes them out of the list.",
      discussion: """
        A job is checked as by `campaign submit`: what would fail again stays in the list, with the reason on standard \
        error and exit status 1. An event goes to its list again.

        Examples:
          carillon dead retry 1763719200000-0
          carillon dead retry --all
        """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var selection: Selection

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let store = try await StoreConnection(configuration.redis, zoneinfo: configuration.worker.zoneinfo).open(
        creating: false)
      let apps = configuration.jobApps()
      try await store.forEach(selection.selectedKeys(in: store), verb: "retried", json: global.json) { key in
        try await store.retryDead(key, apps)
      }
    }
  }
}
