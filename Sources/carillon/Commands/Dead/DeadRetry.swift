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
      let store = try await StoreConnection(configuration.redis).open(creating: false)
      let apps = configuration.jobApps()
      try await store.forEach(selection.selectedKeys(in: store), verb: "retried", json: global.json) { key in
        try await Self.retry(key, store, apps)
      }
    }

    /// - Returns: what is said of it.
    private static func retry(_ key: String, _ store: CampaignStore, _ apps: JobApps) async throws -> String {
      let dead = try await store.deadJob(key)
      guard !dead.isCut else {
        throw CommandError(
          .failed,
          "job \(key) has \(dead.size) bytes, of which the dead list kept \(dead.job.count): it can't be run from here",
          hint: "submit it again from where it came from: carillon campaign submit FILE")
      }
      if let list = dead.list {
        try await store.retryEvent(dead)
        return "the event \(key) is on the list \(list.rawValue) again"
      }
      do {
        let campaign = try await CampaignJob.parse(store.resolve(dead.job), apps)
        switch try await store.submit(dead.job, as: campaign, from: key) {
        case .new: return "\(campaign.id) is in the queue again"
        case .duplicate: return "\(campaign.id) was submitted again before: nothing changes"
        case .conflict: throw CommandError.conflict(campaign.id)
        }
      } catch {
        // A whole row of them may be under way: say which one.
        var error = CommandError(error)
        if error.code == .input || error.code == .conflict { error.message = "job \(key): \(error.message)" }
        throw error
      }
    }
  }
}
