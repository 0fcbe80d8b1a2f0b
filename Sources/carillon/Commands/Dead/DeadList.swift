import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension DeadCommand {
  /// The command `carillon dead list`.
  struct List: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List the jobs and events that workers could not read or run, newest first, with the reasons.",
      discussion: """
        Examples:
          carillon dead list
          carillon dead list --json | jq -r '.[].reason' | sort | uniq -c
        """)

    /// Longest excerpt of a job in the list, in bytes.
    private static let excerpt = 1024

    static let effect = Effect.reads

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
