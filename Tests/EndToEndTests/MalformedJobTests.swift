import PushTransport
import TestKit
import TestSupport
import Testing

/// Invalid jobs that producers push without a check.
struct MalformedJobTests {
  private static let jobs: [(job: String, reason: String)] = [
    ("{oops", "not valid JSON: line 1, column 2"),
    (CarillonWorld.job("a", more: #","lnae":"bulk""#), "lnae: unknown field"),
    (CarillonWorld.job("b").replacing("news", with: "nwes"), "app: no app 'nwes' in the configuration"),
    (CarillonWorld.job("c", audience: #"{"segment":"vip &"}"#), "audience.segment: column 6"),
    (CarillonWorld.job("d", audience: #"{"segment":"vipp"}"#), "audience.segment: there is no segment 'vipp'"),
    (CarillonWorld.job("e").replacing("hi", with: String(repeating: "x", count: 5000)), "924 over the 4096"),
    (
      CarillonWorld.job("f", content: #""apns":{"payload":{"aps":{"alert":"hi"}},"pushType":"background"}"#),
      "payload.aps.alert: is not allowed in a background push"
    ),
    (
      CarillonWorld.job("g", content: #""apns":{"payload":{"aps":{"alert":"hi"}},"pushType":"liveactivity"}"#),
      "rule activity-event: Apple, "
    ),
    (CarillonWorld.job("good", more: #","lane":"bulk""#), "id: good is already used by another job"),
  ]

  @Test(arguments: PushEngineKind.one(for: "invalidJobIsDeadLetteredAndBlocksNoOther"))
  func invalidJobIsDeadLetteredAndBlocksNoOther(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    try await world.startSimulator()
    try await world.importDevices(20)
    let list = "{\(world.namespace)}:campaigns"
    try await world.server.command("LPUSH", list, CarillonWorld.job("good"))
    for (job, _) in Self.jobs { try await world.server.command("LPUSH", list, job) }
    // Larger than the limit of an argument (execve(2)), so Redis creates the text.
    try await world.server.command("EVAL", "redis.call('LPUSH', KEYS[1], string.rep('x', 1048577))", "1", list)
    try await world.server.command("LPUSH", list, CarillonWorld.job("last"))

    let output = try await world.run("worker", "--drain", "--json")
    expect(output.exit, is: .status(0))
    let buried = try JSONObject.all(in: output.standardError).filter { $0.text("event") == "deadLettered" }
    expect(buried.count, is: Self.jobs.count + 1)
    for id in ["good", "last"] {
      expect(try await world.show(id).object("outcomes")?.numbers, is: ["accepted": 20])
    }
    let dead = try await world.server.command("XRANGE", "{\(world.namespace)}:dead", "-", "+")
    for (_, reason) in Self.jobs { expect(dead.contains(reason), "\(reason)") }
    expect(dead.contains("1 over the limit of 1048576"))
    expect(try await world.server.command("LLEN", list), is: "0")
  }
}
