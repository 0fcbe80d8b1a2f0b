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
        A job is checked as by `campaign submit`, and goes into the queue again; an event as by the worker that applies \
        it, and goes to its list again. What would fail again stays in the dead list, with the reason on standard error \
        and exit status 1.

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
      try await DeadCommand.forEach(selection.selectedKeys(in: store), verb: "retried", json: global.json) { key in
        try await DeadJobRetry(store: store, apps: apps).retry(key)
      }
    }
  }
}
