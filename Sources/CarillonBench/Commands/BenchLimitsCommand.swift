import PushTransport
import APNs
import APNsSimulator
import ArgumentParser
import CommandSupport
import Foundation
import PushCore
import TLS

/// `carillon-bench limits`.
struct BenchLimitsCommand: CarillonCommand {
  static let configuration = CommandConfiguration(
    commandName: "limits",
    abstract: "Compare the adaptive stream limit of a connection with fixed limits.",
    discussion: """
      Starts two simulators for each setting. A measurement sends pushes to both at the same time, over one connection \
      each: to one with the adaptive limit, to the other with a fixed limit. So both have the same share of the \
      machine. Each fixed limit is measured once, except limits that can't reach half of the best rate so far. The two \
      fixed limits with the lowest ratio of the adaptive rate to the fixed rate are measured --rounds times. The \
      output shows the one with the lower median ratio. The command needs neither a configuration nor Redis.

      Examples:
        carillon-bench limits
        carillon-bench limits --engine native --only '60 ms' --rounds 5
      """)

  @OptionGroup var global: GlobalOptions

  @Option(help: "The engine that sends (default: both, one after the other).")
  var engine: PushEngineKind?

  @Option(help: "The number of measurements of the two limits with the lowest ratio.")
  var rounds = 3

  @Option(help: "The seconds of each measurement, after a warm-up. Even numbers include complete changes of the limit.")
  var seconds = 2.0

  @Option(help: "Only settings whose names begin with this text.")
  var only = ""

  @Option(help: "The seed of the simulator's random values.")
  var seed = UInt64.random(in: 0...UInt64(UInt32.max))

  /// Number of fixed limits that are measured again. They are the limits with the lowest ratio of the adaptive rate to
  /// the fixed rate.
  private static let candidates = 2
  private static let limits = [1000, 500, 200, 100, 50, 20, 10, 5, 2, 1]

  func validate() throws {
    guard rounds > 0, seconds > 0 else { throw ValidationError("--rounds and --seconds must be positive.") }
  }

  func run() async throws {
    let settings = LimitSetting.all.filter { $0.name.hasPrefix(only) }
    guard !settings.isEmpty else {
      throw CommandError(
        .usage, "no setting begins with \(only)", hint: LimitSetting.all.map(\.name).joined(separator: ", "))
    }
    try StandardOutput.printLine(
      global.json
        ? #"{"event":"started","seed":\#(seed),"rounds":\#(rounds),"seconds":\#(seconds)}"#
        : "seed \(seed), \(rounds) rounds of \(seconds) s; pushes a second (in flight)")
    var rows = [["engine", "setting", "adaptive", "best fixed", "limit", "ratio", "of each round"]]
    for engine in engine.map({ [$0] }) ?? PushEngineKind.allCases {
      for setting in settings {
        let comparison = try await compare(setting, engine)
        if global.json { try StandardOutput.printLine(comparison.json) } else { rows.append(comparison.row) }
      }
    }
    if !global.json { try StandardOutput.printLine(TextTable(rows).text) }
  }

  private func compare(_ setting: LimitSetting, _ engine: PushEngineKind) async throws -> LimitComparison {
    let bench = try await LimitBench(setting, engine, seed: seed)
    var comparison = LimitComparison(engine: engine, setting: setting.name)
    for limit in Self.limits where setting.ceiling(limit) >= comparison.bestRate / 2 {
      comparison.pairs[limit] = [await bench.measure(limit, seconds: seconds)]
    }
    for limit in comparison.lowestRatios(Self.candidates) {
      for _ in 1..<rounds { comparison.pairs[limit]?.append(await bench.measure(limit, seconds: seconds)) }
    }
    await bench.stop()
    guard comparison.bestRate > 0 else {
      throw CommandError(
        .failed, "\(engine.rawValue), \(setting.name): nothing was sent: \(comparison.lastError ?? "")")
    }
    return comparison
  }
}

/// The simulator's behaviour during a comparison of limits.
struct LimitSetting {
  let name: String
  /// Delay of every answer, in milliseconds.
  let latency: Int
  let knobs: SimulatorKnobs
  var timeline = SimulatorTimeline([])

  /// Returns the highest possible number of answers per second with this number of streams.
  func ceiling(_ limit: Int) -> Double { Double(limit) * 1000 / Double(latency) }

  static let all: [LimitSetting] =
    [1, 60, 300].flatMap { latency in
      var stalls = knobs(latency)
      stalls.stallShare = 0.05
      stalls.stallMilliseconds = 1000
      var capped = knobs(latency)
      capped.answersPerSecond = 2000
      return [
        LimitSetting(name: "\(latency) ms", latency: latency, knobs: knobs(latency)),
        LimitSetting(
          name: "\(latency) ms, limit 1↔1000 every second", latency: latency, knobs: knobs(latency),
          timeline: SimulatorTimeline([
            .init(at: 1, every: 2, knobs: Array(#"{"streamLimit":1}"#.utf8)),
            .init(at: 2, every: 2, knobs: Array(#"{"streamLimit":1000}"#.utf8)),
          ])),
        LimitSetting(
          name: "\(latency) ms, 500 ms more for 250 ms every 2 s", latency: latency, knobs: knobs(latency),
          timeline: SimulatorTimeline([
            .init(at: 1, every: 2, knobs: Array(#"{"latencyMilliseconds":\#(latency + 500)}"#.utf8)),
            .init(at: 1.25, every: 2, knobs: Array(#"{"latencyMilliseconds":\#(latency)}"#.utf8)),
          ])),
        LimitSetting(name: "\(latency) ms, 5 % stall for 1 s", latency: latency, knobs: stalls),
        LimitSetting(name: "\(latency) ms, 2,000 answers/s", latency: latency, knobs: capped),
      ]
    }

  private static func knobs(_ latency: Int) -> SimulatorKnobs {
    var knobs = SimulatorKnobs()
    knobs.latencyMilliseconds = latency
    knobs.tracksDuplicates = false
    return knobs
  }
}

/// Simulators of one setting, with the credential and the files that are needed to send to them.
struct LimitBench {
  let setting: LimitSetting
  let engine: PushEngineKind
  /// Short reconnect delays. libcurl closes a connection if a stream is refused, which happens when the limit falls.
  /// The usual delays of a fleet are not part of this measurement.
  private static let hasty = ReconnectBudget.Limits(
    spacing: 1_000_000, firstBackoff: 1_000_000, longestBackoff: 20_000_000, burst: 1000, refill: 1_000_000)

  /// One simulator for each side, each with a separate event loop. On a shared loop, the side with the wider window
  /// would get a larger share.
  private let simulators: [Simulator]
  private let credential: ProviderTokenSource
  private let folder: URL
  private let roots: String

  /// Duration of the warm-up in seconds. It is enough to open the connection, and for more than ten round trips in
  /// which the adaptive limit grows from one to a thousand.
  private var warmUp: Double { 1.5 + Double(setting.latency) * 0.012 }

  init(_ setting: LimitSetting, _ engine: PushEngineKind, seed: UInt64) async throws {
    self.setting = setting
    self.engine = engine
    let key = try ECPrivateKey.generate()
    var configuration = SimulatorConfiguration()
    configuration.keys = [.init(keyID: SimulatorFolder.keyID, teamID: SimulatorFolder.teamID, pem: key.publicPEM)]
    configuration.knobs = setting.knobs
    configuration.seed = seed
    let identity = try SelfSignedIdentity()
    configuration.identity = identity.identity
    simulators = [try await Simulator.start(configuration), try await Simulator.start(configuration)]
    for simulator in simulators { simulator.play(setting.timeline) }
    credential = try ProviderTokenSource(keyID: SimulatorFolder.keyID, teamID: SimulatorFolder.teamID, key: key)
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("carillon-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    let file = folder.appendingPathComponent("ca.pem")
    try Data(identity.authorityPEM.utf8).write(to: file)
    roots = file.path
  }

  /// Sends with a fixed limit and with the adaptive one at the same time.
  func measure(_ limit: Int, seconds: Double) async -> LimitComparison.Pair {
    async let adaptive = send(nil, to: simulators[0], seconds)
    async let fixed = send(limit, to: simulators[1], seconds)
    return await (adaptive, fixed)
  }

  private func send(_ limit: Int?, to simulator: Simulator, _ seconds: Double) async -> RateBenchmark.Result {
    await RateBenchmark.run(
      ConnectionPool.Configuration(
        endpoint: PushEndpoint(url: "https://127.0.0.1:\(simulator.port)", trustRoots: roots), service: APNsService(),
        connections: 1,
        reconnect: Self.hasty, engine: engine),
      streams: limit, credential: credential,
      request: PushHeaders(topic: SimulatorFolder.topic, pushType: .alert, priority: 10).request,
      payload: Array(#"{"aps":{"alert":{"title":"Hello","body":"The body of a push of the usual length"}}}"#.utf8),
      warmUp: warmUp, seconds: seconds)
  }

  func stop() async {
    for simulator in simulators { await simulator.stop() }
    // An error is ignored, because the folder contains nothing of value.
    try? FileManager.default.removeItem(at: folder)
  }
}
