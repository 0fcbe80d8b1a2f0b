import Foundation
import PushTransport
import TestKit
import TestSupport
import Testing

/// The configuration of `simulate --init`, and a simulator. The options of `simulate` set the ports of both.
struct TwoServiceWorld {
  /// A token of FCM, without its last characters.
  static let android = "cAAAAAAAAAAAAAAAAAAAAA:APA91b_"

  var world: CarillonWorld
  let options: [String]
  private let directory: String
  private let simulator: ChildProcess

  /// - Parameter server: `nil` for the Redis server that all tests share.
  init(engine: PushEngineKind? = nil, server: RedisServer? = nil) async throws {
    world = try await CarillonWorld(engine: engine?.rawValue, server: server)
    directory = world.folder.path("sim")
    options = try ["--port", "--control-port", "--fcm-port", "--token-port"].flatMap {
      [$0, "\(try FreePort.find())"]
    }
    let made = try await CarillonCommand.run(["simulate", "--init", directory] + options)
    made.expect(exit: 0)
    expect(made.standardOutput.contains("simulate --directory \(directory) --port \(options[1])"))
    world.environment["CARILLON_CONFIG"] = directory + "/carillon.yaml"
    let fault = ["--knob", "fcm.latencyMilliseconds=1"]
    simulator = try await ChildProcess.start(
      CarillonCommand.path, ["simulate", "--directory", directory] + options + fault)
    _ = try #require(await simulator.line(containing: "listening"))
  }

  /// Imports users `u0`, `u1`, … of the app `shop`, each with a token of both services.
  func importDevices(_ count: Int) async throws {
    let rows = (0..<count).map { number in
      "u\(number),\(CarillonWorld.token(number)),shop,apns\nu\(number),\(Self.android)\(number),shop,fcm\n"
    }
    let file = try world.folder.write("both.csv", "user,token,app,service\n" + rows.joined())
    try await world.succeed("devices", "import", file)
  }

  /// Sends a request to the simulator's control API.
  func control(_ path: String, _ options: String...) async throws {
    let port = self.options[3]
    let output = try await ChildProcess.run(
      "curl",
      ["--silent", "--show-error", "--fail", "--http2", "--cacert", directory + "/ca.pem"] + options
        + ["https://127.0.0.1:\(port)\(path)"])
    expect(output.exit, is: .status(0), "\(output.standardError)")
  }

  func end() async { _ = await simulator.terminate() }
}
