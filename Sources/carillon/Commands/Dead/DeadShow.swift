import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension DeadCommand {
  /// `carillon dead show`.
  struct Show: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a job that could not be run, whole; exits 1 when it is not in the list.",
      discussion: """
        Example, to mend a job and submit it again:
          carillon dead show 1763719200000-0 --json | jq -r .job > job.json
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The job's key, as `carillon dead list` shows it.") var key: String

    func run() async throws {
      let report = DeadJobReport(try await global.openStore().queue.deadJob(key))
      try StandardOutput.printLine(global.json ? report.json : report.text)
    }
  }
}
