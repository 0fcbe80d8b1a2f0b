import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension DeadCommand {
  /// The command `carillon dead retry`.
  struct Retry: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "retry", abstract: "Move jobs from the dead list back to the queue.",
      discussion: """
        The command checks a job as `campaign submit` does and moves it to the queue. It checks an event as a worker \
        does and moves it to the list of events. An entry that would fail again stays on the dead list: the command \
        prints the reason on standard error and exits with 1.

        Examples:
          carillon dead retry 1763719200000-0
          carillon dead retry --all
        """)

    static let effect = Effect.changes([.deadRetry])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var selection: Selection

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let store = try await StoreConnection(
        configuration.redis, zoneinfo: configuration.worker.zoneinfo, apps: configuration.appServices
      ).open(
        creating: false)
      let apps = configuration.jobApps()
      let keys = try await selection.selectedKeys(in: store)
      try await DeadCommand.forEach(keys, in: store, .deadRetry, past: "retried", json: global.json) { key in
        try await DeadJobRetry(store: store, apps: apps).retry(key)
      }
    }
  }
}
