import ArgumentParser
import CampaignStore
import CommandSupport
import PushWorker

/// `carillon status`.
struct StatusCommand: CarillonCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Shows the fleet at a look: workers, queues, campaigns, what needs somebody.",
    discussion: """
      Reads only, and costs Redis little however much there is. For scripts the exit status says it: 0 all is well; 1 \
      something needs somebody, and the first lines say what and what to do; 69 Redis is out of reach.

      Examples:
        carillon status
        carillon status --json | jq '.alarms[].text'
      """)

  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let store = try StoreConnection(global.loadConfiguration().redis).store(for: "carillon status")
    let report = FleetReport(try await store.fleet.snapshot(lease: WorkerConfiguration.standardLease))
    await store.close()
    try StandardOutput.printLine(global.json ? report.json : report.text)
    if !report.isWell { throw ExitCode(CommandError.Code.failed.exitStatus) }
  }
}
