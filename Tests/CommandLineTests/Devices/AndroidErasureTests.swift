import Foundation
import PushTransport
import TestKit
import TestSupport
import Testing

/// Erases a user with an Apple device and Android devices. Afterwards no byte of a Redis snapshot contains the user's
/// id or a token.
struct AndroidErasureTests {
  private static let user = "victim-zoë"
  /// A registration token and a Firebase installation ID.
  private static let tokens = ["fVICTIMaaaaaaaaaaaaaaa:APA91bVICTIM7007", "cVICTIM-installation_7"]
  private static let apple = CarillonWorld.token(7007)
  /// A token that FCM no longer knows.
  private static let gone = "dVICTIMgoneaaaaaaaaaaa:APA91bVICTIM7008"

  private static let needles: [String: Data] = [
    "id": Data(user.utf8), "registration token": Data(tokens[0].utf8), "installation": Data(tokens[1].utf8),
    "gone token": Data(gone.utf8), "Apple token": Data(apple.utf8),
  ]

  @Test(arguments: PushEngineKind.one(for: "erasedAndroidUserIsInNoKey"))
  func erasedAndroidUserIsInNoKey(engine: PushEngineKind) async throws {
    let server = try await RedisServer.start()
    var scene = try await TwoServiceWorld(engine: engine, server: server)
    scene.world.environment["CARILLON_REDIS_STREAM_LENGTH"] = "1000"
    let world = scene.world
    try await scene.importDevices(20)
    var rows = (Self.tokens + [Self.gone]).map { "\(Self.user),\($0),shop,fcm\n" }
    rows.append("\(Self.user),\(Self.apple),shop,apns\n")
    let file = try world.folder.write("victim.csv", "user,token,app,service\n" + rows.joined())
    try await world.succeed("devices", "import", file)
    try await scene.control("/fcm/devices", "--data-binary", "\(Self.gone),unregistered")

    // A campaign with results of every token, one that prunes a token, and one whose job lists tokens.
    let message = #""message":{"body":"B"}"#
    try await world.succeed(
      "campaign", "submit", "-",
      input: CarillonWorld.job("both", app: "shop", content: message, more: #","results":"all""#))
    let listed = Self.tokens.map { "\"\($0)\"" }.joined(separator: ",")
    try await world.succeed(
      "campaign", "submit", "-",
      input: CarillonWorld.job(
        "raw", app: "shop", audience: #"{"tokens":[\#(listed)]}"#, content: message,
        more: #","services":["fcm"],"results":"all""#))
    try await world.drain("first")
    expect(try await world.show("both").object("outcomes")?.number("unregistered"), is: 1)
    // A job that can't run, and an event that waits.
    let list = "{\(world.namespace)}:"
    try await server.command(
      "lpush", list + "campaigns", #"{"id":"bad","app":"shop","services":["fcm"],"audience":{"tokens":[\#(listed)]}}"#)
    try await world.drain("second")
    try await server.command(
      "lpush", list + "registrations",
      #"{"op":"register","user":"\#(Self.user)","token":"\#(Self.tokens[0])","service":"fcm","app":"shop"}"#)
    let before = RedisSnapshot.found(Self.needles, in: try await RedisSnapshot.of(server))
    expect(before, is: Set(Self.needles.keys))

    try await world.succeed("users", "erase", Self.user, "--yes")
    // Redis keeps the bytes of a removed stream entry until the entries beside it are removed too.
    for stream in ["events", "dead"] {
      let entries = try await server.command("xrange", list + stream, "-", "+")
      expect(RedisSnapshot.found(Self.needles, in: Data(entries.utf8)), is: [])
      try await server.command("del", list + stream)
    }
    let left = RedisSnapshot.found(Self.needles, in: try await RedisSnapshot.of(server))
    expect(left, is: [])
    let shown = try await world.show("both")
    expect(shown.object("outcomes")?.numbers.values.reduce(0, +), is: 44)
    let check = try await world.run("store", "check")
    expect(check.exit, is: .status(0), "\(check.standardOutput)")
    await scene.end()
    await server.kill(SIGKILL)
  }
}
