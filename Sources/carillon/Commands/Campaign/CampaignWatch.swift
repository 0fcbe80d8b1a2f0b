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
      abstract: "Shows a campaign's progress until it ends or pauses itself; exits 1 unless it is completed.",
      discussion: """
        A campaign that somebody has paused is watched on; one that paused itself will not go on before something is \
        mended: the reason says what.

        On a terminal a bar; elsewhere a line for every second in which something changed. With --json each line is \
        what `campaign show --json` prints.

        Example:
          carillon campaign watch spring-sale-2026
        """)

    /// Five times a second looks alive; a look costs the same whatever the number of partitions.
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
      var watch = CampaignPoller(id)
      var lastSeen = ContinuousClock.now
      while true {
        let look: CampaignLook?
        do {
          look = try await CampaignLookup(store).look(id, by: &watch)
          lastSeen = ContinuousClock.now
        } catch let error as RedisError where ContinuousClock.now - lastSeen < Self.patience {
          try view.lose(error)
          try await Task.sleep(for: Self.lineInterval)
          continue
        }
        switch look {
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
          // To find it means to walk over the queue.
          try await Task.sleep(for: Self.lineInterval)
        case nil: throw try await CampaignLookup(store).absent(id)
        }
      }
    }

    /// What of the campaign is on the screen.
    private struct CampaignView: ~Copyable {
      private let isJSON: Bool
      private let isTerminal: Bool
      private var bar: ProgressBar
      private var lastLine = ""
      /// Why nothing moved at the last look.
      private var lastReason: String?
      private var lastTime: ContinuousClock.Instant?
      private var state = CampaignState.active

      init(id: String, isJSON: Bool) {
        self.isJSON = isJSON
        // isatty(3): 1 for a terminal.
        isTerminal = !isJSON && isatty(STDERR_FILENO) == 1
        bar = ProgressBar(id, unit: "pushes", total: nil)
      }

      /// It is in the queue: says where.
      mutating func wait(_ report: QueuedReport) throws {
        let line = isJSON ? report.json : report.line
        guard line != lastLine else { return }
        lastLine = line
        if isTerminal { StandardError.write(line + "\n") } else { try StandardOutput.printLine(line) }
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
            StandardError.write("\(Excerpt.harmless(report.standing))\n")
          }
        }
        // Nothing moves before its time.
        if isTerminal {
          say(report.record.waiting)
          return state == .scheduled ? () : bar.update(done: report.done, total: report.total?.count)
        }
        if let lastTime, ContinuousClock.now - lastTime < Watch.lineInterval { return }
        let line = isJSON ? report.json : report.line
        guard line != lastLine else { return }
        lastLine = line
        lastTime = ContinuousClock.now
        try StandardOutput.printLine(line)
      }

      /// Why nothing moves, once.
      private mutating func say(_ waiting: CampaignWait?) {
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
