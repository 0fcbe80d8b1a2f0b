import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension DeadCommand {
  /// `carillon dead list`.
  struct List: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the jobs that could not be run, the newest first, with the reason.",
      discussion: """
        Examples:
          carillon dead list
          carillon dead list --json | jq -r '.[].reason' | sort | uniq -c
        """)

    /// Bytes of a job that the list shows.
    private static let excerpt = 1024

    @OptionGroup var global: GlobalOptions

    func run() async throws {
      let store = try await global.openStore()
      guard global.json else {
        var rows = [["key", "at", "id", "reason"]]
        try await store.queue.forEachDeadJob { job in
          rows.append([
            job.key, Timestamp.format(milliseconds: job.at), job.id ?? "-",
            Excerpt.harmless(job.hint.isEmpty ? job.reason : "\(job.reason); \(job.hint)"),
          ])
        }
        return try StandardOutput.printLine(TextTable(rows).text)
      }
      var json = JSONWriter()
      json.beginArray()
      try await store.queue.forEachDeadJob { job in
        DeadJobReport(job, limit: Self.excerpt).write(to: &json)
      }
      json.endArray()
      try StandardOutput.printLine(json.text)
    }
  }
}
