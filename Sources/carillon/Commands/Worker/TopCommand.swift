import ArgumentParser
import CampaignStore
import CommandSupport
import PushWorker
import Redis

/// `carillon top`.
struct TopCommand: CarillonCommand {
  static let configuration = CommandConfiguration(
    commandName: "top",
    abstract: "Shows what `carillon status` shows, live; q ends it.",
    discussion: """
      Looks once a second unless --interval says otherwise; any other key looks at once. Where standard output or \
      standard input is no terminal, and with --json, it looks once and ends as `carillon status` does.

      Example:
        carillon top --interval 5
      """)

  /// A look costs Redis some dozen commands.
  private static let intervals = 0.2...3600

  @OptionGroup var global: GlobalOptions
  @Option(help: ArgumentHelp("Seconds between two looks.", valueName: "seconds")) var interval = 1.0

  func validate() throws {
    guard Self.intervals.contains(interval) else {
      throw ValidationError("--interval must be from \(Self.intervals.lowerBound) to \(Self.intervals.upperBound).")
    }
  }

  func run() async throws {
    let store = try StoreConnection(global.loadConfiguration().redis).store(for: "carillon top")
    // Before the terminal is taken over: what is wrong from the start is said as everywhere else.
    let first = FleetReport(try await store.fleet.snapshot(lease: WorkerConfiguration.standardLease))
    guard !global.json, let screen = try FullScreen.open() else {
      await store.close()
      try StandardOutput.printLine(global.json ? first.json : first.text)
      if !first.isWell { throw ExitCode(CommandError.Code.failed.exitStatus) }
      return
    }
    let (looks, continuation) = AsyncStream.makeStream(of: Look.self, bufferingPolicy: .bufferingNewest(16))
    let keys = Task { [events = screen.events] in
      for await event in events { continuation.yield(.event(event)) }
    }
    let clock = Task {
      while !Task.isCancelled {
        try? await Task.sleep(for: .seconds(interval))
        continuation.yield(.time)
      }
    }
    defer {
      keys.cancel()
      clock.cancel()
    }
    var lines = first.lines
    try screen.show(lines)
    for await look in looks {
      switch look {
      case .event(.end), .event(.key(UInt8(ascii: "q"))), .event(.key(UInt8(ascii: "Q"))): return
      case .event(.resized): break
      case .event(.key), .time: lines = try await self.look(at: store, before: lines)
      }
      try screen.show(lines)
    }
  }

  /// Why it is looked, or drawn, again.
  private enum Look {
    case time
    case event(FullScreen.Event)
  }

  /// What there is to see now; while Redis is away that, above what was seen last.
  private func look(at store: CampaignStore, before: [String]) async throws -> [String] {
    do {
      return FleetReport(try await store.fleet.snapshot(lease: WorkerConfiguration.standardLease), most: 100).lines
    } catch let error as RedisError {
      return ["Redis is out of reach: \(error.message); looking again", ""]
        + before.drop { $0.hasPrefix("Redis is out") }
    }
  }
}
