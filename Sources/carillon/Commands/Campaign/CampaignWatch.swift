import ArgumentParser
import CampaignStore
import CommandSupport
import Glibc
import PushCore
import Redis

extension CampaignCommand {
  /// The command `carillon campaign watch`.
  struct Watch: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "watch",
      abstract: "Show a campaign's progress until it ends or Carillon pauses it. Exits with 1 if it did not complete.",
      discussion: """
        If an operator pauses the campaign, the command continues. If Carillon pauses the campaign, the command ends \
        and prints the reason. Fix the cause, then resume the campaign.

        On a terminal it shows a progress bar. Otherwise it prints a line each second if something has changed. With \
        --json each line is the output of `campaign show --json`.

        Example:
          carillon campaign watch spring-sale-2026
        """)

    /// Interval between two reads. With five reads a second, the display appears live. The cost of a read does not
    /// depend on the number of partitions.
    private static let interval = Duration.milliseconds(200)
    /// Minimum interval between two lines if the output is not a terminal.
    private static let lineInterval = Duration.seconds(1)
    /// Longest time without Redis after which the command ends. Workers, in contrast, wait without limit.
    private static let timeout = Duration.seconds(60)

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String

    func run() async throws {
      let store = try await global.openStore()
      var view = CampaignView(id: id, isJSON: global.json)
      var watch = CampaignPoller(id)
      var lastSeen = ContinuousClock.now
      while true {
        let found: FoundCampaign?
        do {
          found = try await CampaignLookup(store).find(id, by: &watch)
          lastSeen = ContinuousClock.now
        } catch let error as RedisError where ContinuousClock.now - lastSeen < Self.timeout {
          try view.reportOutage(error)
          try await Task.sleep(for: Self.lineInterval)
          continue
        }
        switch found {
        case .campaign(let report):
          let record = report.record
          guard record.times.finishedAt == nil, !record.pausedItself else {
            try view.end(report)
            if record.state != .completed { throw ExitCode(CommandError.Code.failed.exitStatus) }
            return
          }
          try view.update(report)
          try await Task.sleep(for: record.state == .scheduled ? Self.lineInterval : Self.interval)
        case .queued(let report):
          try view.wait(report)
          // While the job is in the queue, the interval is longer, because every read scans the queue.
          try await Task.sleep(for: Self.lineInterval)
        case nil: throw try await CampaignLookup(store).absent(id)
        }
      }
    }

    /// State of the output: progress bar, last line and last reason.
    private struct CampaignView: ~Copyable {
      private let isJSON: Bool
      private let isTerminal: Bool
      private var bar: ProgressBar
      private var lastLine = ""
      /// Reason for the lack of progress at the last read.
      private var lastReason: String?
      private var lastTime: ContinuousClock.Instant?
      private var state = CampaignState.active

      init(id: String, isJSON: Bool) {
        self.isJSON = isJSON
        // isatty(3): 1 for a terminal.
        isTerminal = !isJSON && isatty(STDERR_FILENO) == 1
        bar = ProgressBar(id, unit: "pushes", total: nil)
      }

      /// Prints the job's position in the queue.
      mutating func wait(_ report: QueuedReport) throws {
        let line = isJSON ? report.json : report.line
        guard line != lastLine else { return }
        lastLine = line
        if isTerminal { StandardError.write(line + "\n") } else { try StandardOutput.printLine(line) }
      }

      /// Reports that Redis does not answer.
      mutating func reportOutage(_ error: RedisError) throws {
        bar.finish()
        if !isJSON { StandardError.write("\(error.message); the campaign is not affected; retrying\n") }
      }

      mutating func update(_ report: CampaignReport) throws {
        if report.record.state != state {
          state = report.record.state
          bar.finish()
          if isTerminal {
            StandardError.write("\(Excerpt.harmless(report.standing))\n")
          }
        }
        // A scheduled campaign has no progress yet.
        if isTerminal {
          printReason(report.record.waiting)
          return state == .scheduled ? () : bar.update(done: report.done, total: report.total?.count)
        }
        if let lastTime, ContinuousClock.now - lastTime < Watch.lineInterval { return }
        let line = isJSON ? report.json : report.line
        guard line != lastLine else { return }
        lastLine = line
        lastTime = ContinuousClock.now
        try StandardOutput.printLine(line)
      }

      /// Prints why the campaign makes no progress. Prints the same reason only once.
      private mutating func printReason(_ waiting: CampaignWait?) {
        guard waiting?.reason != lastReason else { return }
        lastReason = waiting?.reason
        guard let waiting else { return }
        bar.finish()
        StandardError.write("waiting: \(Excerpt.harmless(waiting.text))\n")
      }

      mutating func end(_ report: CampaignReport) throws {
        bar.finish()
        try StandardOutput.printLine(isJSON ? report.json : isTerminal ? report.text : report.line)
      }
    }
  }
}
