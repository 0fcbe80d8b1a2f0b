import ArgumentParser
import CampaignStore
import CommandSupport

extension StoreCommand {
  /// The command `carillon store check`.
  struct Check: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", abstract: "Check the consistency of all keys in Redis. Exits with 1 if a problem remains.",
      discussion: """
        The check can run while workers and imports run. It reads every key once, page by page. Each line of the \
        output has a place, a problem and a hint. The last line has the numbers of checked keys. With --json every \
        line is an object; the last object has no `kind`.

        The check scans all keys. Its Redis user therefore needs the permissions of carillon-maintainer in \
        Config/redis.acl.example.

        Examples:
          carillon store check
          carillon store check --repair
          carillon store check --json | jq -r 'select(.kind) | .kind' | sort | uniq -c
        """)

    static let effect = Effect.changes([.storeRepair])

    @OptionGroup var global: GlobalOptions
    @Flag(help: "Repair the problems that can be repaired safely. Correct data is not changed.") var repair = false

    func run() async throws {
      // With `changing`, the check is refused while `store repartition` moves keys, because many keys are then not in
      // their final place.
      let store = try await global.openStore(changing: true)
      var output = StandardOutput()
      var report = StoreCheckReport()
      report.tally = try await store.repair.check(repairing: repair) { findings in
        for finding in findings {
          report.count(finding)
          try output.writeLine(global.json ? StoreCheckReport.json(finding) : StoreCheckReport.text(finding))
        }
        // Flush after each page of findings, so that the operator sees the progress.
        if !findings.isEmpty { try output.flush() }
      }
      if repair {
        await AuditTrail(store).record(.commandLine, .storeRepair, "", detail: "\(report.repaired) problems repaired")
      }
      try output.writeLine(global.json ? report.json : report.text)
      try output.flush()
      if report.left > 0 { throw ExitCode(CommandError.Code.failed.exitStatus) }
    }
  }
}
