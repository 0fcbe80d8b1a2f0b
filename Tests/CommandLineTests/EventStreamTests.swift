import Foundation
import PushTransport
import TestKit
import TestSupport
import Testing

/// Outcomes and pruned devices as a stream, read by the consumer of `deploy/consumers`.
struct EventStreamTests {
  @Test(arguments: PushEngineKind.one(for: "consumerGetsEveryOutcomeAndPruneOnce"))
  func consumerGetsEveryOutcomeAndPruneOnce(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    world.environment["CARILLON_REDIS_STREAM_LENGTH"] = "100000"
    let simulator = try await world.startSimulator()
    let tokens = try await world.importDevices(60)
    try await simulator.load(
      tokens.prefix(3).map { #"{"token":"\#($0)","state":"bad"}"# }
        + tokens[3..<8].map { "\($0),unregistered,com.example.news,1790000000000" })
    try await world.submit("a")
    try await world.drain()
    func consume() async throws -> [String] {
      let output = try await ChildProcess.run(
        "python3", [Self.consumer, "warehouse", "one", "--once"],
        environment: ["REDIS_PORT": "\(world.server.port)", "CARILLON_NAMESPACE": world.namespace])
      expect(output.exit, is: .status(0), "\(output.standardError)")
      return output.standardOutput.split(separator: "\n").map(String.init)
    }
    let lines = try await consume()
    let outcomes = try lines.filter { $0.hasPrefix("outcome ") }.map { try JSONObject(String($0.dropFirst(8))) }
    expect(outcomes.count == 60 && Set(outcomes.compactMap { $0.text("token") }) == Set(tokens))
    let counts = Dictionary(grouping: outcomes) { $0.text("outcome") ?? "" }.mapValues(\.count)
    expect(counts, is: ["accepted": 52, "badToken": 3, "unregistered": 5])
    expect(outcomes.allSatisfy { $0.text("campaign") == "a" && $0.text("app") == "news" && $0.text("user") != nil })
    let prunes = try lines.filter { $0.hasPrefix("prune ") }.map { try JSONObject(String($0.dropFirst(6))) }
    expect(Set(prunes.compactMap { $0.text("token") }), is: Set(tokens[3..<8]))
    expect(try await consume(), is: [])
  }

  @Test func withoutALengthThereIsNoStream() async throws {
    var world = try await CarillonWorld(engine: "native")
    try await world.startSimulator()
    try await world.importDevices(5)
    try await world.submit("a")
    try await world.drain()
    expect(try await world.server.command("exists", "{\(world.namespace)}:events"), is: "0")
  }

  private static let consumer = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../deploy/consumers/events.py").path
}
