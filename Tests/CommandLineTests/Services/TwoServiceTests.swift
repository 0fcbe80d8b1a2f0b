import Foundation
import PushTransport
import TestKit
import TestSupport
import Testing

/// Commands for the app `shop` of the simulator's configuration, which has Apple and Android devices.
@Suite(.takesTurns) struct TwoServiceTests {
  @Test(arguments: PushEngineKind.one(for: "pausedLegIsShownByEveryCommand"))
  func pausedLegIsShownByEveryCommand(engine: PushEngineKind) async throws {
    let scene = try await TwoServiceWorld(engine: engine)
    let world = scene.world
    try await scene.importDevices(20)
    let worker = try await world.start("worker", "--name", "w")
    let job = CarillonWorld.job("two", app: "shop", content: #""message":{"body":"B"}"#, more: #","rate":0.5"#)
    try await world.succeed("campaign", "submit", "-", input: job)
    try await world.until("two") { ($0.object("outcomes")?.number("accepted") ?? 0) > 0 }
    try await world.succeed("campaign", "pause", "two", "--service", "fcm")
    let record = try await world.show("two")
    expect(record.text("state") == "active" && record.texts("pausedServices") == ["fcm"])
    let shown = try await world.succeed("campaign", "show", "two")
    expect(shown.contains("active, fcm paused"), "\(shown)")
    expect(
      shown.contains(#/leg +two~main-apns active: /#) && shown.contains(#/leg +two~main-fcm paused: /#), "\(shown)")
    // One of the legs has sent a push.
    expect(shown.contains(#/leg +two~main-.*, accepted \d/#), "\(shown)")
    expect(try await world.succeed("campaign", "list").contains("active, fcm paused"))
    expect(try await world.succeed("status").contains("active, fcm paused"))
    try await world.succeed("campaign", "resume", "two", "--service", "fcm")
    expect(try await world.show("two").texts("pausedServices"), is: nil)
    let cancelled = try JSONObject(await world.succeed("campaign", "cancel", "two", "--json"))
    let parts = try #require(cancelled.objects("parts"))
    expect(parts.compactMap { $0.text("id") }, is: ["two~main-apns", "two~main-fcm"])
    expect(parts.compactMap { $0.number("targets") }.reduce(0, +), is: cancelled.number("targets"))
    expect(cancelled.object("outcomes")?.number("accepted") ?? 0 > 0)
    expect(await worker.terminate(), is: .status(0))
    await scene.end()
  }

  @Test func dataAloneNamesTheOptionForItsPushType() async throws {
    let scene = try await TwoServiceWorld()
    let token = TwoServiceWorld.android + "0"
    let send = ["send", "--app", "shop", "--service", "fcm", "--token", token, #"{"data":{"k":"v"}}"#]
    let alert = try await CarillonCommand.run(send, environment: scene.world.environment)
    alert.expect(exit: 65, saying: "has no notification", "set --push-type to background")
    expect(!alert.standardError.contains("fcm.pushType"))
    let silent = try await CarillonCommand.run(
      send + ["--push-type", "background"], environment: scene.world.environment)
    silent.expect(exit: 0)
    for (option, status, says) in [
      ("--apns-id=123e4567-e89b-12d3-a456-426614174000", Int32(64), "has no id"), ("--priority=7", 65, "10, 5 or 1"),
    ] {
      try await CarillonCommand.run(send + [option, "--dry-run"], environment: scene.world.environment).expect(
        exit: status, saying: says)
    }
    await scene.end()
    let unreachable = try await CarillonCommand.run(
      send + ["--push-type", "background"], environment: scene.world.environment)
    unreachable.expect(exit: 69, saying: "no access token", "carillon doctor")
  }

  @Test func portsOfANewFolderMustBeFixed() async throws {
    let folder = try ScratchFolder()
    let output = try await CarillonCommand.run(["simulate", "--init", folder.path("sim"), "--port", "0"])
    output.expect(exit: 64, saying: "--init writes the ports")
    try await CarillonCommand.run(["simulate", "--init", folder.path("sim"), "--port", "9000"]).expect(exit: 0)
    let configuration = try String(contentsOfFile: folder.path("sim/carillon.yaml"), encoding: .utf8)
    expect(configuration.contains("simulate --directory . --port 9000\n"))
    expect(configuration.contains("endpoint: https://127.0.0.1:9000\n") && configuration.contains("127.0.0.1:9002\""))
    let account = try String(contentsOfFile: folder.path("sim/service-account.json"), encoding: .utf8)
    expect(account.contains("https://127.0.0.1:9003/token"))
  }

  @Test func helpNamesAllAppsAndAllStatuses() async throws {
    let simulate = try await CarillonCommand.run(["simulate", "--help"]).standardOutput
    expect(simulate.contains("android (FCM)"))
    // The names of knobs and paths begin in one column.
    for name in ["tokenBurst ", "refusedShare ", "errorBudget ", "POST /devices", "POST /offline"] {
      expect(simulate.contains("\n  \(name)"), "\(name)")
    }
    expect(try await CarillonCommand.run(["--help"]).standardOutput.contains("69 Redis or a"))
  }

  @Test func deviceOfAServiceThatItsAppDoesNotUseIsRefused() async throws {
    let scene = try await TwoServiceWorld()
    let token = TwoServiceWorld.android + "0"
    let file = try scene.world.folder.write("bad.csv", "user,token,app,service\nu,\(token),news,fcm\nv,00,news,apns\n")
    try await scene.world.run("devices", "import", file).expect(
      exit: 65, saying: ":2: service: app news does not use fcm; it uses apns")
    let register = ["devices", "register", "--user", "u", "--token", token, "--app", "news", "--service", "fcm"]
    try await CarillonCommand.run(register, environment: scene.world.environment).expect(
      exit: 65, saying: "app news does not use fcm")
    await scene.end()
  }
}
