import Foundation
import Glibc
import TestKit
import TestSupport
import Testing

/// Signals at random times after the start of a command.
@Suite(.timeLimit(.minutes(20)), .takesTurns) struct SignalTests {
  private struct SignalShot {
    var arguments: [String]
    var signal: Int32
    /// Whether the signal comes while the program is loaded. Otherwise it comes after the program has begun to handle
    /// signals.
    var isEarly: Bool
    /// Delay in ms after the start, or after the program has begun to handle signals.
    var moment: Int
  }

  /// Longest delay of a signal in ms. A command has begun its work by then.
  private static let span = 300

  /// Number of commands that run at the same time. They load the machine while they start.
  private static let parallel = 4

  /// SIGTERM and SIGINT end the command with exit status 0 within its deadline. SIGHUP does not end it. Before the
  /// first statement of the program, each signal has its default action. Workers have a campaign in progress, and none
  /// of its pushes is lost.
  @Test func signalAtAnyMomentDoesWhatItSays() async throws {
    let count = ProcessInfo.processInfo.environment["CARILLON_TEST_SIGNALS"].flatMap { Int($0) } ?? 50
    var chance = Seed("signalAtAnyMomentDoesWhatItSays")
    var world = try await CarillonWorld(engine: "native")
    try await world.startSimulator("--latency", "5ms")
    try await world.importDevices(100)
    // The rate is so low that every worker finds work.
    try await world.submit("a", more: #","rate":5"#)
    let folder = URL(filePath: try #require(world.environment["CARILLON_CONFIG"])).deletingLastPathComponent().path
    let commands = [
      ["worker", "--listen", "127.0.0.1:0"], ["admin", "--listen", "127.0.0.1:0"],
      ["simulate", "--port", "0", "--control-port", "0", "--directory", folder],
    ]
    let shots = (0..<count).map { number in
      SignalShot(
        arguments: commands.randomElement(using: &chance) ?? [],
        signal: [SIGTERM, SIGINT, SIGHUP].randomElement(using: &chance) ?? SIGTERM,
        isEarly: number % 3 == 0, moment: .random(in: 0...Self.span, using: &chance))
    }
    let environment = world.environment
    try await withThrowingTaskGroup(of: Bool.self) { group in
      var (next, late) = (shots.makeIterator(), 0)
      for _ in 0..<Self.parallel {
        if let shot = next.next() { group.addTask { try await Self.fire(shot, environment) } }
      }
      while let wasHandled = try await group.next() {
        late += wasHandled ? 1 : 0
        if let shot = next.next() { group.addTask { try await Self.fire(shot, environment) } }
      }
      // The late signals came after the program began to handle signals, except SIGHUP to simulators.
      expect(late >= count / 2, "\(late) of \(count)")
    }
  }

  /// - Returns: whether the program already handled its signals.
  private static func fire(_ shot: SignalShot, _ environment: [String: String]) async throws -> Bool {
    let command = try await ChildProcess.start(CarillonCommand.path, shot.arguments, environment: environment)
    if !shot.isEarly {
      try await poll(until: "the command handles signals", every: .milliseconds(5)) {
        command.handles(SIGTERM) || command.exit != nil
      }
    }
    await elapse(.milliseconds(shot.moment))
    // SIGHUP ends a simulator, as it ends every program without a handler.
    let handles = command.handles(shot.signal) && (shot.signal != SIGHUP || shot.arguments[0] != "simulate")
    command.send(signal: shot.signal)
    if shot.signal == SIGHUP {
      // SIGTERM ends a command that continues after SIGHUP.
      await elapse(.milliseconds(50))
      command.send(signal: SIGTERM)
    }
    // worker.deadline is 20 s. The rest is for a busy machine.
    try? await poll(until: "the command ends", within: .seconds(40)) { command.exit != nil }
    let expected: [ChildProcess.Exit] = handles ? [.status(0)] : [.status(0), .signal(shot.signal)]
    if command.exit.map(expected.contains) != true {
      let end = command.exit.map { "\($0)" } ?? "not within its deadline"
      command.send(signal: SIGKILL)
      let log = await command.errorLines.reduce(into: "") { $0 += $1 + "\n" }
      Issue.record("\(shot.arguments[0]) with signal \(shot.signal) after \(shot.moment) ms: \(end)\n\(log)")
    }
    return handles
  }

  /// The test blocks the loop that the stop of the admin server needs, or the stop itself.
  @Test(arguments: ["admin", "simulate"])
  func commandThatHangsIsEnded(name: String) async throws {
    var world = try await CarillonWorld(engine: "native")
    try await world.startSimulator()
    let folder = URL(filePath: try #require(world.environment["CARILLON_CONFIG"])).deletingLastPathComponent().path
    let command: ChildProcess
    if name == "admin" {
      command = try await world.start(
        ["admin", "--json", "--listen", "127.0.0.1:0"], environment: ["CARILLON_FAULT_BLOCK": "redis"])
      let url = try await command.listeningURL()
      try await poll(until: "/livez reports the blocked loop", every: .milliseconds(100)) {
        try await Curl.get(url + "/livez", "--max-time", "20").status == 503
      }
    } else {
      command = try await world.start(
        ["simulate", "--port", "0", "--control-port", "0", "--directory", folder],
        environment: ["CARILLON_FAULT_BLOCK": "stop"])
      _ = try #require(await command.line(containing: "listening"))
    }
    command.send(signal: SIGTERM)
    expect(await command.waitForExit(), is: .status(70))
    let log = await command.errorLines.reduce(into: "") { $0 += $1 + "\n" }
    expect(log.contains("did not stop within \(name == "admin" ? 20 : 5) s"), "\(log)")
  }

  /// A short command has no handlers, so the signal ends it, as shells expect.
  @Test func shortCommandDiesOfTheSignal() async throws {
    // A Redis that never answers blocks the command.
    let (visits, visit) = AsyncStream.makeStream(of: Void.self)
    let server = try RawServer { client in
      visit.yield()
      var byte: UInt8 = 0
      while recv(client, &byte, 1, 0) == 1 {}
    }
    defer { server.stop() }
    var visitors = visits.makeAsyncIterator()
    let world = try await CarillonWorld(url: "redis://127.0.0.1:\(server.port)")
    for signal in [SIGTERM, SIGINT, SIGHUP] {
      let command = try await world.start("status")
      await visitors.next()
      command.send(signal: signal)
      expect(await command.waitForExit(), is: .signal(signal))
    }
  }
}
