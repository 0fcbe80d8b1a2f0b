import ArgumentParser
import CampaignStore
import CommandSupport

extension StoreCommand {
  /// `carillon store check`.
  struct Check: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Holds the store's keys against each other; exits 1 when anything is left that should be otherwise.",
      discussion: """
        It may run beside workers and imports, and reads everything once, a page at a time. A line of what is found \
        says where and what it is, and what to do about it; the last line says how much was looked at. With --json \
        every line is an object, the last one without a `kind`.

        It walks over all keys, so its Redis user needs more rights than others: carillon-maintainer of \
        Config/redis.acl.example.

        Examples:
          carillon store check
          carillon store check --mend
          carillon store check --json | jq -r 'select(.kind) | .kind' | sort | uniq -c
        """)

    @OptionGroup var global: GlobalOptions
    @Flag(help: "Mend what can be mended safely: what is right is not touched.") var mend = false

    func run() async throws {
      // While partitions change much is on its way, and nothing where it belongs.
      let store = try await global.openStore(changing: true)
      var output = StandardOutput()
      var report = StoreCheckReport()
      report.tally = try await store.repair.check(mending: mend) { findings in
        for finding in findings {
          report.count(finding)
          try output.writeLine(global.json ? StoreCheckReport.json(finding) : StoreCheckReport.text(finding))
        }
        // Whoever looks at it sees how it gets on.
        if !findings.isEmpty { try output.flush() }
      }
      try output.writeLine(global.json ? report.json : report.text)
      try output.flush()
      if report.left > 0 { throw ExitCode(CommandError.Code.failed.exitStatus) }
    }
  }
}
