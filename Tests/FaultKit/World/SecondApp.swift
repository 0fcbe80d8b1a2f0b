public import Foundation
import Glibc
import Synchronization
import TestSupport

/// A second app with a simulator of its own. A case can stop the simulator and start it again at the same port.
public final class SecondApp: Sendable {
  /// The app's name in jobs.
  public static let name = "sport"
  private static let topic = "com.example.sport"

  /// The tokens of its devices.
  public let tokens: [String]
  /// The log of its simulators.
  public let log: URL
  private let port: Int
  /// `nil` while the simulator is dead.
  private let running: Mutex<SimulatorProcess?>

  /// Starts the simulator, points the world's commands and workers at it, and imports the devices.
  ///
  /// - Parameters:
  ///   - world: gets a configuration of both apps.
  ///   - devices: number of users `s0`, `s1`, … with one device each.
  ///   - folder: for the log and the configuration.
  init(in world: inout CarillonWorld, devices: Int, folder: URL) async throws {
    log = folder.appending(path: "sport.log")
    // Outgoing connections never get this port, so it stays free while the simulator is dead.
    port = Int(try FreePort.find())
    let simulator = try await CarillonWorld.simulator(port: port, options: ["--log", log.path])
    running = Mutex(simulator)
    // These tokens differ from those of the devices of the app `news`.
    tokens = (0..<devices).map { CarillonWorld.token(0x1000_0000 + $0) }
    let configuration = folder.appending(path: "carillon.yaml")
    let keys = URL(fileURLWithPath: world.environment["CARILLON_CONFIG"] ?? "").deletingLastPathComponent().path
    try Data(Self.configuration(keys: keys, port: port).utf8).write(to: configuration)
    world.environment["CARILLON_CONFIG"] = configuration.path
    let rows = tokens.enumerated().map { "s\($0),\($1),2026-01-01T00:00:00Z,\(Self.name)\n" }
    let file = try world.folder.write("sport.csv", "user,token,registeredAt,app\n" + rows.joined())
    try await world.succeed("devices", "import", file)
  }

  /// Returns the configuration of both apps, with the key that all simulators accept.
  ///
  /// - Parameters:
  ///   - keys: the folder of the key and of the authority.
  ///   - port: port of the second app's simulator. The address of the first app's simulator is in the environment.
  private static func configuration(keys: String, port: Int) -> String {
    let apps = [("news", "com.example.news", 1), (name, topic, port)].map { name, topic, port in
      """
        \(name):
          apns:
            topic: \(topic)
            environment: production
            token: { keyFile: \(keys)/AuthKey_SIMULATOR1.p8, keyID: SIMULATOR1, teamID: SIMULATION }
            endpoint: https://127.0.0.1:\(port)
            trustRoots: \(keys)/ca.pem

      """
    }
    return "apps:\n" + apps.joined()
  }

  /// Size of the simulator's log in bytes. It grows with every request received in full.
  public var logSize: Int {
    get throws { try FileManager.default.attributesOfItem(atPath: log.path)[.size] as? Int ?? 0 }
  }

  /// Changes knobs of the simulator: a JSON object with their names and values.
  public func set(_ knobs: String) async throws {
    guard let simulator = running.withLock({ $0 }) else { throw TestSupportError("the second app's simulator is dead") }
    try await simulator.set(knobs)
  }

  /// Ends the simulator with SIGKILL. Its connections are reset, and new ones are refused.
  public func kill() async {
    guard let simulator = running.withLock({ $0 }) else { return }
    simulator.process.send(signal: SIGKILL)
    await simulator.process.waitForExit()
    running.withLock { $0 = nil }
  }

  /// Starts the simulator again at the same port.
  public func restart() async throws {
    let simulator = try await CarillonWorld.simulator(port: port, options: ["--log", log.path])
    running.withLock { $0 = simulator }
  }

  /// Freezes the simulator with SIGSTOP. The kernel still accepts connections and bytes for it.
  public func freeze() { running.withLock { $0 }?.process.send(signal: SIGSTOP) }

  /// Ends the freeze with SIGCONT.
  public func thaw() { running.withLock { $0 }?.process.send(signal: SIGCONT) }
}
