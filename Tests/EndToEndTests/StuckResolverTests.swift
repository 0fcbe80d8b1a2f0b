import FaultKit
import Foundation
import PushTransport
import TestKit
import TestSupport
import Testing

/// A name server that never answers.
struct StuckResolverTests {
  /// Path of the library, which is in the folder of the programs; see Tests/FalseResolver.
  private static let library = URL(fileURLWithPath: CarillonCommand.path).deletingLastPathComponent()
    .appending(path: "libFalseResolver.so").path

  /// Without `CURLOPT_QUICK_EXIT`, libcurl waits for the thread that resolves the name before it closes the connection.
  @Test(arguments: PushEngineKind.allCases)
  func workerStopsDuringAnEndlessNameLookUp(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    try await world.startSimulator()
    try await world.importDevices(10)
    let asked = world.folder.path("asked")
    world.environment["CARILLON_APPS_NEWS_APNS_ENDPOINT"] = "https://apns.stuck.example:443"
    let worker = try await world.start(
      ["worker", "--name", "stuck", "--json"],
      environment: ["LD_PRELOAD": Self.library, "FALSE_RESOLVER_ASKED": asked])
    _ = try #require(await worker.errorLine(containing: #""event":"started""#))
    try await world.submit("nobody")
    try await until("the name is asked for") { FileManager.default.fileExists(atPath: asked) }
    worker.send(signal: SIGTERM)
    try await until("the worker stops", within: .seconds(60)) { worker.exit != nil }
    expect(worker.exit, is: .status(0))
  }
}
