import Foundation
import PushTransport
import TestKit
import TestSupport
import Testing

/// Erases one of 10,000 users while a campaign runs and after another campaign has ended. The test kills the worker and
/// the command before they finish. Afterwards no byte of a Redis snapshot contains the user's id, token or values.
@Suite(.takesTurns) struct ErasureProofTests {
  private static let users = 10_000
  private static let number = 7007
  private static let user = "victim-zoë"
  private static let value = "Zanzibar-7007"

  private func found(in snapshot: Data) throws -> Set<String> {
    let text = CarillonWorld.token(Self.number)
    let bytes = stride(from: 0, to: text.utf8.count, by: 2).map { index in
      UInt8(text.dropFirst(index).prefix(2), radix: 16) ?? 0
    }
    let needles = [
      "id": Data(Self.user.utf8), "token as text": Data(text.utf8), "token": Data(bytes),
      "value": Data(Self.value.utf8),
    ]
    return RedisSnapshot.found(needles, in: snapshot)
  }

  /// Numbers of pipelines: the test kills the command before each of these pipelines. The last run completes. `make
  /// faults` tries more numbers.
  private static let kills: [Int] = {
    let count = ProcessInfo.processInfo.environment["CARILLON_TEST_ERASURE_KILLS"].flatMap { Int($0) } ?? 0
    var seed = Seed("ErasureProofTests")
    return [14, 24] + (0..<count).map { _ in Int.random(in: 8...48, using: &seed) }
  }()

  @Test func erasedUserIsInNoKey() async throws {
    let server = try await RedisServer.start()
    var world = try await CarillonWorld(partitions: 4, engine: PushEngineKind.native.rawValue, server: server)
    world.environment["CARILLON_WORKER_WINDOW"] = "500"
    let simulator = try await world.startSimulator()
    try await world.importDevices(Self.users, columns: ["attributes"]) {
      $0 == Self.number ? (Self.user, [#""{""city"":""\#(Self.value)""}""#]) : ("u\($0)", [#""{""city"":""Oslo""}""#])
    }
    // The campaign that lists the user has ended.
    let listed = #"{"users":[{"user":"\#(Self.user)","vars":{"street":"\#(Self.value)"}},"u1","u2"]}"#
    try await world.submit("ended", audience: listed, more: #","results":"all""#)
    try await world.drain("first")
    expect(try await world.show("ended").object("outcomes")?.numbers, is: ["accepted": 3])

    // Another campaign runs, and its answers are slow.
    try await simulator.setLatency(milliseconds: 1000)
    let victim = try await world.start("worker", "--name", "victim")
    let heir = try await world.start("worker", "--name", "heir")
    let job = CarillonWorld.job(
      "during", content: #""apns":{"payload":{"aps":{"alert":"{{city}}"}}}"#, more: #","results":"all""#)
    try await world.succeed("campaign", "submit", "-", input: job)
    // A user who is erased before the partition is expanded is not a target.
    try await world.until("during") {
      $0.object("outcomes")?.number("accepted") ?? 0 >= 500 && $0.number("targets") == Self.users
    }
    expect(try await world.show("during").text("state"), is: "active")
    victim.send(signal: SIGKILL)
    expect(await victim.waitForExit(), is: .signal(SIGKILL))
    expect(try found(in: await RedisSnapshot.of(server)), is: ["id", "token as text", "token", "value"])
    var killed = 0
    for step in Self.kills {
      let command = try await world.start(
        ["users", "erase", Self.user, "--yes"], environment: ["CARILLON_FAULT_STEP": String(step)])
      if await command.waitForExit() == .signal(SIGKILL) { killed += 1 }
    }
    expect(killed > 0)
    try await simulator.setLatency(milliseconds: 0)
    try await world.succeed("campaign", "watch", "during")
    // The other worker becomes the maintenance leader and completes the erasure of the killed command.
    try await poll(until: "the erasure is complete") {
      if heir.exit != nil { return true }
      return try await server.command("hlen", "{\(world.namespace)}:erasing") == "0"
    }

    expect(try found(in: await RedisSnapshot.of(server)), is: [])
    for (id, targets) in [("during", Self.users), ("ended", 3)] {
      let campaign = try await world.show(id)
      expect(campaign.number("targets"), is: targets)
      expect(campaign.object("outcomes")?.numbers.values.reduce(0, +), is: targets, "\(campaign)")
    }
    expect(await heir.terminate(), is: .status(0))
    expect(try await world.run("store", "check").exit, is: .status(0))
    await server.kill(SIGKILL)
  }
}
