import ArgumentParser
import CampaignStore
import CommandSupport
import PushWorker

/// The command `carillon status`.
struct StatusCommand: AuditedCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show the state of the fleet: workers, queues, campaigns and open alarms.",
    discussion: """
      The command only reads, and its cost in Redis does not depend on the amount of data. If alarms are open, the \
      first lines list them with hints. Exit status: 0 if no alarm is open, 1 if an alarm is open, 69 if \
      Redis is unreachable.

      Examples:
        carillon status
        carillon status --json | jq '.alarms[].text'
      """)

  static let effect = Effect.reads

  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let store = try StoreConnection(global.loadConfiguration().redis).store(for: "carillon status")
    let report = FleetReport(try await store.fleet.snapshot(lease: WorkerConfiguration.standardLease))
    await store.close()
    try StandardOutput.printLine(global.json ? report.json : report.text)
    if !report.isHealthy { throw ExitCode(CommandError.Code.failed.exitStatus) }
  }
}
