import Foundation
import PushTransport
import TestKit
import TestSupport
import Testing

/// A name with addresses of both families, of which one refuses connections. `PushTransportTests/AddressFamilyTests`
/// has more cases in one process.
@Suite(.takesTurns) struct AddressFamilyTests {
  /// Path of the library that answers for `localhost`; see Tests/FalseResolver.
  private static let library = URL(fileURLWithPath: CarillonCommand.path).deletingLastPathComponent()
    .appending(path: "libFalseResolver.so").path

  @Test(arguments: PushEngineKind.allCases, ["::1,127.0.0.1", "127.0.0.1,::1"])
  func workerSendsOverTheFamilyThatWorks(engine: PushEngineKind, addresses: String) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue, devices: 200)
    let port = UInt16(try await world.startSimulator().port)
    let refusing = try RefusingPort(host: "::1", port: port)
    world.environment["CARILLON_APPS_NEWS_APNS_ENDPOINT"] = "https://localhost:\(port)"
    world.environment["LD_PRELOAD"] = Self.library
    let asked = world.folder.path("asked")
    world.environment.merge(["FALSE_RESOLVER_LOCALHOST": addresses, "FALSE_RESOLVER_ASKED": asked]) { $1 }
    try await world.submit("both")
    try await world.drain()
    // libcurl asks no name server for localhost: it always uses both addresses (RFC 6761).
    expect(engine == .curl || FileManager.default.fileExists(atPath: asked))
    expect(try await world.show("both").object("outcomes")?.numbers, is: ["accepted": 200])
    withExtendedLifetime(refusing) {}
  }
}
