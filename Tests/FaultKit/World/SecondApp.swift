public import Foundation
import Glibc
import Synchronization
import TestSupport

/// An app besides the world's own, with a simulator of its own that a case takes away and gives back at the same port.
public final class SecondApp: Sendable {
  /// As jobs name it.
  public static let name = "sport"
  private static let topic = "com.example.sport"

  /// The tokens of its devices.
  public let tokens: [String]
  /// What its simulators write down, one after the other.
  public let log: URL
  private let port: Int
  /// `nil` while it is dead.
  private let running: Mutex<SimulatorProcess?>

  /// Starts the simulator, points the world's commands and workers at it, and imports the devices.
  ///
  /// - Parameters:
  ///   - world: gets a configuration of both apps.
  ///   - devices: users `s0`, `s1`, … with one each.
  ///   - folder: for the log and the configuration.
  init(in world: inout CarillonWorld, devices: Int, folder: URL) async throws {
    log = folder.appending(path: "sport.log")
    // No outgoing connection takes it while the simulator is dead.
    port = Int(try FreePort.find())
    let simulator = try await CarillonWorld.simulator(port: port, options: ["--log", log.path])
    running = Mutex(simulator)
    // Beyond those of the world's own.
    tokens = (0..<devices).map { CarillonWorld.token(0x1000_0000 + $0) }
    let configuration = folder.appending(path: "carillon.yaml")
    let keys = URL(fileURLWithPath: world.environment["CARILLON_CONFIG"] ?? "").deletingLastPathComponent().path
    try Data(Self.configuration(keys: keys, port: port).utf8).write(to: configuration)
    world.environment["CARILLON_CONFIG"] = configuration.path
    let rows = tokens.enumerated().map { "s\($0),\($1),2026-01-01T00:00:00Z,\(Self.name)\n" }
    let file = try world.folder.write("sport.csv", "user,token,registeredAt,app\n" + rows.joined())
    try await world.succeed("devices", "import", file)
  }

  /// Both apps, by the key that all simulators believe.
  ///
  /// - Parameters:
  ///   - keys: the folder of the key and of the authority.
  ///   - port: of the second app's simulator; the environment says where that of the first is.
  private static func configuration(keys: String, port: Int) -> String {
    let apps = [("news", "com.example.news", 1), (name, topic, port)].map { name, topic, port in
      """
        \(name):
          topic: \(topic)
          environment: production
          token: { keyFile: \(keys)/AuthKey_SIMULATOR1.p8, keyID: SIMULATOR1, teamID: SIMULATION }
          endpoint: https://127.0.0.1:\(port)
          trustRoots: \(keys)/ca.pem

      """
    }
    return "apps:\n" + apps.joined()
  }

  /// Requests received in full since the world began.
  public func received() throws -> Int { try SimulatorLog(log).requests.count }

  /// Changes knobs of the simulator: a JSON object with their names and values.
  public func set(_ knobs: String) async throws {
    guard let simulator = running.withLock({ $0 }) else { throw TestSupportError("the second app's simulator is dead") }
    try await simulator.set(knobs)
  }

  /// Ends the simulator with SIGKILL: its connections are reset, new ones refused.
  public func kill() async {
    guard let simulator = running.withLock({ $0 }) else { return }
    simulator.process.send(signal: SIGKILL)
    await simulator.process.waitForExit()
    running.withLock { $0 = nil }
  }

  /// Starts the simulator again where it was.
  public func restart() async throws {
    let simulator = try await CarillonWorld.simulator(port: port, options: ["--log", log.path])
    running.withLock { $0 = simulator }
  }

  /// Lets the simulator stand still: the kernel goes on taking bytes and connections for it.
  public func freeze() { running.withLock { $0 }?.process.send(signal: SIGSTOP) }

  /// Lets it go on.
  public func thaw() { running.withLock { $0 }?.process.send(signal: SIGCONT) }
}
