import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension DeadCommand {
  /// The command `carillon dead show`.
  struct Show: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show a job on the dead list with its complete text. Exits with 1 if there is no such job.",
      discussion: """
        Example: get a job to fix it and submit it again
          carillon dead show 1763719200000-0 --json | jq -r .job > job.json
        """)

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The job's key, from `carillon dead list`.") var key: String

    func run() async throws {
      let report = DeadJobReport(try await global.openStore().queue.deadJob(key))
      try StandardOutput.printLine(global.json ? report.json : report.text)
    }
  }
}
