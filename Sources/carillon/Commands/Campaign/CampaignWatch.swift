import ArgumentParser
import CampaignStore
import CommandSupport
import Glibc
import PushCore
import Redis

extension CampaignCommand {
  /// `carillon campaign watch`.
  struct Watch: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a campaign's progress until it ends; exits 1 when it failed or was cancelled.",
      discussion: """
        On a terminal a bar; elsewhere a line for every second in which something changed. With --json each line is \
        what `campaign show --json` prints.

        Example:
          carillon campaign watch spring-sale-2026
        """)

    /// Five times a second looks alive; each look is one round trip of as many small reads as there are open slices.
    private static let interval = Duration.milliseconds(200)
    /// Between lines where there is no terminal.
    private static let lineInterval = Duration.seconds(1)
    /// How long Redis may be away before watching ends; workers wait for as long as it takes.
    private static let patience = Duration.seconds(60)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String

    func run() async throws {
      let store = try await global.openStore()
      var view = CampaignView(id: id, isJSON: global.json)
      var lastSeen = ContinuousClock.now
      while true {
        let shown: CampaignRecord?
        do {
          shown = try await store.show(id)
          lastSeen = ContinuousClock.now
        } catch let error as RedisError where ContinuousClock.now - lastSeen < Self.patience {
          try view.lose(error)
          try await Task.sleep(for: Self.lineInterval)
          continue
        }
        guard let record = shown else {
          // Just submitted: a worker takes it in within moments, once there is one.
          guard try await store.isKnown(id), try await store.burial(of: id) == nil else {
            throw try await store.whereIs(id)
          }
          try view.wait()
          try await Task.sleep(for: Self.interval)
          continue
        }
        let report = CampaignReport(record)
        guard record.finishedAt == nil else {
          try view.end(report)
          if record.state != .completed { throw ExitCode(CommandError.Code.failed.exitStatus) }
          return
        }
        try view.update(report)
        try await Task.sleep(for: record.state == .scheduled ? Self.lineInterval : Self.interval)
      }
    }

    /// What of the campaign is on the screen.
    private struct CampaignView: ~Copyable {
      private let isJSON: Bool
      private let isTerminal: Bool
      private var bar: ProgressBar
      private var lastLine = ""
      private var lastTime: ContinuousClock.Instant?
      private var isWaiting = false
      private var state = CampaignState.active

      init(id: String, isJSON: Bool) {
        self.isJSON = isJSON
        // isatty(3): 1 for a terminal.
        isTerminal = !isJSON && isatty(STDERR_FILENO) == 1
        bar = ProgressBar(id, unit: "pushes", total: nil)
      }

      /// Nothing to show yet; says so once.
      mutating func wait() throws {
        guard !isWaiting else { return }
        isWaiting = true
        if !isJSON { StandardError.write("waiting for a worker to take it in\n") }
      }

      /// Redis does not answer; says so.
      mutating func lose(_ error: RedisError) throws {
        bar.finish()
        if !isJSON { StandardError.write("\(error.message); the campaign goes on, looking again\n") }
      }

      mutating func update(_ report: CampaignReport) throws {
        if report.record.state != state {
          state = report.record.state
          bar.finish()
          if isTerminal {
            StandardError.write("\(report.state)\(report.record.reason.map { ": " + Excerpt.harmless($0) } ?? "")\n")
          }
        }
        // Nothing moves before its time.
        if isTerminal, state == .scheduled { return }
        if isTerminal { return bar.update(done: report.done, total: report.total?.count) }
        if let lastTime, ContinuousClock.now - lastTime < Watch.lineInterval { return }
        let line = isJSON ? report.json : report.line
        guard line != lastLine else { return }
        lastLine = line
        lastTime = ContinuousClock.now
        try StandardOutput.printLine(line)
      }

      mutating func end(_ report: CampaignReport) throws {
        bar.finish()
        try StandardOutput.printLine(isJSON ? report.json : isTerminal ? report.text : report.line)
      }
    }
  }
}
