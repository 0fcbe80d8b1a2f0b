import ArgumentParser
import CampaignStore
import CommandSupport
import PushWorker
import Redis

/// The command `carillon top`.
struct TopCommand: AuditedCommand {
  static let configuration = CommandConfiguration(
    commandName: "top",
    abstract: "Show the output of `carillon status` live. Press q to quit.",
    discussion: """
      Refreshes at every --interval; any key except q refreshes immediately. With --json, or without a terminal at \
      standard input and standard output, it prints the state once and exits like `carillon status`.

      Example:
        carillon top --interval 5
      """)

  /// Allowed refresh intervals, in seconds. A refresh costs Redis a few dozen commands.
  private static let intervals = 0.2...3600

  static let effect = Effect.reads

  @OptionGroup var global: GlobalOptions
  @Option(help: ArgumentHelp("The refresh interval in seconds.", valueName: "seconds")) var interval = 1.0

  func validate() throws {
    guard Self.intervals.contains(interval) else {
      throw ValidationError("--interval must be from \(Self.intervals.lowerBound) to \(Self.intervals.upperBound).")
    }
  }

  func run() async throws {
    let store = try StoreConnection(global.loadConfiguration().redis).store(for: "carillon top")
    // Read the state before entering full-screen mode, so that an error at the start is reported in the usual way.
    let first = FleetReport(try await store.fleet.snapshot(lease: WorkerConfiguration.standardLease))
    guard !global.json, let screen = try FullScreen.open() else {
      await store.close()
      try StandardOutput.printLine(global.json ? first.json : first.text)
      if !first.isHealthy { throw ExitCode(CommandError.Code.failed.exitStatus) }
      return
    }
    let (refreshes, continuation) = AsyncStream.makeStream(of: Refresh.self, bufferingPolicy: .bufferingNewest(16))
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
    for await refresh in refreshes {
      switch refresh {
      case .event(.end), .event(.key(UInt8(ascii: "q"))), .event(.key(UInt8(ascii: "Q"))): return
      case .event(.resized): break
      case .event(.key), .time: lines = try await self.refresh(at: store, before: lines)
      }
      try screen.show(lines)
    }
  }

  /// The reason for a refresh of the data or of the screen.
  private enum Refresh {
    case time
    case event(FullScreen.Event)
  }

  /// Returns the lines to show. If Redis is unreachable, the lines are the error and the previous state below it.
  private func refresh(at store: CampaignStore, before: [String]) async throws -> [String] {
    do {
      return FleetReport(try await store.fleet.snapshot(lease: WorkerConfiguration.standardLease), most: 100).lines
    } catch let error as RedisError {
      return ["Redis is unreachable: \(error.message); retrying", ""]
        + before.drop { $0.hasPrefix("Redis is unreachable") }
    }
  }
}
