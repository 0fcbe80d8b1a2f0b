import APNsSimulator
import EventLoop
import PushCore
import Synchronization
import TestKit
import TestSupport
import Testing

@testable import PushTransport

/// Connections over IPv6, and to a name with addresses of both families. `EndToEndTests/AddressFamilyTests` does the
/// second with a name, for both engines.
@Suite("Address families", .timeLimit(.minutes(6)))
struct AddressFamilyTests {
  /// The other address of the loopback interface.
  private static func other(than host: String) -> String { host == "::1" ? "127.0.0.1" : "::1" }

  @Test("pushes are sent over IPv6", arguments: PushEngineKind.allCases)
  func overIPv6(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(engine: engine, host: "::1")
    expect(try await harness.sendUntilAccepted(0..<50).allSatisfy { $0.kind == .answered })
    expect(harness.pool.published.connections[0].address, is: "::1")
    expect(harness.pool.published.failures, is: 0)
    await harness.stop()
  }

  /// Reason why an address can't be reached.
  enum Trouble: CaseIterable { case refuses, isSilent }

  @Test(
    "if one family refuses or is silent, each connection uses the other one, and none counts as failed",
    arguments: ["127.0.0.1", "::1"], Trouble.allCases)
  func unreachableFamily(serving host: String, trouble: Trouble) async throws {
    try await open(serving: host, trouble) { _ in true }
    // For the second connection, the first address of its lookup is the only good one, and in use.
    try await open(serving: host, trouble) { $0 == 0 }
  }

  /// Opens two connections to a name with a good and an unreachable address.
  ///
  /// - Parameter beginsUnreachable: whether the lookup with this number returns the unreachable address first.
  private func open(
    serving host: String, _ trouble: Trouble, beginsUnreachable: @escaping @Sendable (Int) -> Bool
  ) async throws {
    let lookups = Atomic<Int>(0)
    // Half of the timeout is longer than the time limit of the suite.
    let harness = try await PoolHarness(
      engine: .native, host: host, connections: 2, connectTimeout: 3_600_000_000_000,
      knobs: .init { $0.latencyMilliseconds = 20 },
      makeEngine: { number, configuration, supply in
        var connector = NativeConnector(configuration)
        connector.resolve = { host, port in
          let hosts = [Self.other(than: host), host]
          let number = lookups.add(1, ordering: .relaxed).oldValue
          return try (beginsUnreachable(number) ? hosts : hosts.reversed())
            .flatMap { try SocketAddress.resolve(host: $0, port: port) }
        }
        return ConnectionEngine(number: number, configuration: configuration, connector: connector, supply: supply)
      })
    let (other, port) = (Self.other(than: host), harness.simulator.port)
    let unreachable: AnyObject =
      switch trouble {
      case .refuses: try RefusingPort(host: other, port: port)
      case .isSilent: try SilentPort(host: other, port: port)
      }
    var tag: UInt64 = 0
    while harness.pool.published.open < 2 {
      expect(try await harness.sendUntilAccepted(tag..<tag + 50).allSatisfy { $0.kind == .answered })
      tag += 50
    }
    let state = harness.pool.published
    expect(state.connections.prefix(2).map(\.address), is: [host, host])
    expect((state.openings, state.failures) == (2, 0), "\(state.lastError ?? "")")
    await harness.stop()
    withExtendedLifetime(unreachable) {}
  }

  @Test("the families of the addresses alternate, beginning with that of the first address")
  func familiesAlternate() throws {
    let hosts = ["10.0.0.1", "10.0.0.2", "::1", "10.0.0.3", "::2"]
    let addresses = try hosts.flatMap { try SocketAddress.resolve(host: $0, port: 443) }
    let alternating = ["10.0.0.1", "::1", "10.0.0.2", "::2", "10.0.0.3"]
    expect(AddressRace.alternating(addresses).map(\.host), is: alternating)
    let reversed = AddressRace.alternating(addresses.reversed())
    expect(reversed.map(\.host), is: ["::2", "10.0.0.3", "::1", "10.0.0.2", "10.0.0.1"])
    expect(AddressRace.alternating([]).isEmpty)
  }
}
