import CommandSupport
import Foundation

/// Cost of one push: h2load, a bare libcurl loop in C and both engines in turn, each on one connection to the same
/// simulator. CPU time is that of the whole process, including its start.
struct EnginePart: BenchPart {
  /// Number of streams of both engines, the same as for h2load and the loop.
  private static let streams = 500
  private static let tokens = 10_000

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    let simulator = try await world.startSimulator(["--seed", String(settings.seed)])
    let devices = BenchDevices(count: Self.tokens, seed: settings.seed)
    try devices.writeTokens(world.path("tokens"))
    try devices.writeTokens(world.path("uris"), prefix: simulator.endpoint + "/3/device/")
    try Data(CampaignRun.payload.utf8).write(to: URL(fileURLWithPath: world.path("payload.json")))
    try Data(try world.providerToken().utf8).write(to: URL(fileURLWithPath: world.path("provider.token")))
    let bench = EngineBench(
      world: world, simulator: simulator, requests: settings.requests, streams: Self.streams,
      curlLoop: settings.curlLoop)

    var samples: [EngineBench.Client: [EngineBench.Sample]] = [:]
    for round in 0..<settings.rounds {
      for client in EngineBench.Client.allCases where client != .loop || settings.curlLoop != nil {
        report.progress("engine: \(client.rawValue), round \(round + 1) of \(settings.rounds)")
        samples[client, default: []].append(try await bench.measure(client))
      }
    }
    await world.stop(simulator.process)

    for client in EngineBench.Client.allCases {
      guard let own = samples[client] else { continue }
      try report.add(
        Figure("engine.\(client.rawValue).cpu", "\(client.name), CPU a push", "µs", samples: own.map(\.cpu)))
      try report.add(
        Figure("engine.\(client.rawValue).rate", "\(client.name), pushes a second", "/s", samples: own.map(\.rate)))
    }
    try compare(.native, .h2load, samples, report)
    try compare(.curl, .loop, samples, report)
  }

  /// Adds the ratios of the rounds. In each round the two clients ran in succession.
  private func compare(
    _ client: EngineBench.Client, _ other: EngineBench.Client,
    _ samples: [EngineBench.Client: [EngineBench.Sample]], _ report: BenchReport
  ) throws {
    guard let own = samples[client], let others = samples[other] else { return }
    try report.add(
      Figure(
        "engine.\(client.rawValue)/\(other.rawValue)", "\(client.name) / \(other.name), CPU a push", "",
        samples: zip(own, others).map { $0.cpu / $1.cpu }))
  }
}

/// Clients that send the same pushes to a simulator.
struct EngineBench: Sendable {
  enum Client: String, CaseIterable {
    case h2load, native, loop, curl

    var name: String {
      switch self {
      case .h2load: "h2load"
      case .native: "native engine"
      case .loop: "bare libcurl loop"
      case .curl: "curl engine"
      }
    }
  }

  struct Sample: Sendable {
    /// Microseconds per push.
    var cpu: Double
    /// Pushes per second.
    var rate: Double
  }

  /// Maximum number of requests of h2load that may be refused. h2load may begin before it has read that a connection
  /// starts with one stream, so up to 99 of its first hundred requests are refused.
  private static let refused = 99

  let world: BenchWorld
  let simulator: BenchWorld.SimulatorProcess
  let requests: Int
  let streams: Int
  let curlLoop: String?

  func measure(_ client: Client) async throws -> Sample {
    let requests = count(client)
    let (output, end) = try await world.run(try await words(client), environment: environment(client))
    let (accepted, rate) = try Self.read(output, of: client)
    guard accepted >= requests - (client == .h2load ? Self.refused : 0) else {
      throw CommandError(.failed, "\(client.name): \(accepted) of \(requests) were accepted: \(output)")
    }
    return Sample(cpu: end.cpuMicroseconds / Double(requests), rate: rate)
  }

  /// Returns the number of requests. Clients with libcurl send a fifth: they need ten times as much CPU time per push,
  /// so the cost of their start matters less.
  private func count(_ client: Client) -> Int {
    client == .loop || client == .curl ? max(1, requests / 5) : requests
  }

  private func words(_ client: Client) async throws -> [String] {
    let requests = count(client)
    switch client {
    case .h2load:
      return [
        "h2load", "-n", String(requests), "-c", "1", "-m", String(streams), "-i", world.path("uris"), "-d",
        world.path("payload.json"), "-H", "authorization: bearer \(try world.providerToken())", "-H",
        "apns-topic: \(SimulatorFolder.topic)", "-H", "apns-push-type: alert", "-H", "apns-priority: 10",
      ]
    case .loop:
      return [
        curlLoop ?? "", simulator.endpoint, world.path("simulator/" + SimulatorFolder.authority),
        world.path("provider.token"), SimulatorFolder.topic, String(requests), String(streams),
      ]
    case .native, .curl:
      return [
        world.program, "engine", "--engine", client.rawValue, "--app", "news", "--tokens",
        world.path("tokens"), "--requests", String(requests), "--streams", String(streams), "--payload",
        String(CampaignRun.payload.utf8.count),
      ]
    }
  }

  private func environment(_ client: Client) -> [String: String] {
    client == .native || client == .curl
      ? world.environment(simulator).merging(["CARILLON_WORKER_CONNECTIONS": "1"]) { $1 } : [:]
  }

  /// Parses a client's output: number of accepted pushes, and pushes per second.
  static func read(_ output: String, of client: Client) throws -> (accepted: Int, rate: Double) {
    switch client {
    case .h2load:
      // finished in 1.23s, 81234.56 req/s, 2.34MB/s … status codes: 200000 2xx, 0 3xx, 0 4xx, 0 5xx
      let rate = output.firstMatch(of: /finished in [^,]*, ([0-9.]+) req\/s/).flatMap { Double($0.1) }
      let accepted = output.firstMatch(of: /status codes: ([0-9]+) 2xx/).flatMap { Int($0.1) }
      guard let rate, let accepted else { throw CommandError(.failed, "h2load printed: \(output)") }
      return (accepted, rate)
    case .loop, .native, .curl:
      guard let line = OutputLine(output.utf8) else { throw CommandError(.failed, "\(client.name) printed: \(output)") }
      return (Int(try line.number("accepted")), try line.number(client == .loop ? "pushesPerSecond" : "perSecond"))
    }
  }
}
