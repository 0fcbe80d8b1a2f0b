import Foundation
import Glibc
import Redis
import TestSupport

/// Workers of two programs at the same time during campaigns: a rolling upgrade and a rollback.
///
/// `faults --only upgrade --old PATH --new PATH` plays the case `upgrade` with two real programs. Without the paths, as
/// in `make test`, all workers run the same program, but each reports one of two versions.
public enum UpgradeCases {
  static let all = [rolling, refused]

  /// Names of the variables with the paths of the two programs. The default is the program that was built with the
  /// tests.
  public static let oldVariable = "FAULTS_OLD_PROGRAM"
  public static let newVariable = "FAULTS_NEW_PROGRAM"

  /// A program with the environment of its workers.
  private struct Program {
    let path: String
    let environment: [String: String]
    /// The version that its workers report.
    let version: String

    /// - Parameters:
    ///   - variable: name of the variable with the program's path.
    ///   - announced: the version that the program reports if the variable is not set.
    init(_ variable: String, announced: String) async throws {
      let given = ProcessInfo.processInfo.environment[variable]
      path = given ?? CarillonCommand.path
      environment = given == nil ? ["CARILLON_FAULT_VERSION": announced] : [:]
      let output = try await ChildProcess.run(path, ["--version"], environment: environment)
      version = output.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
      guard output.exit == .status(0), !version.isEmpty else {
        throw TestSupportError("\(path) --version: \(output.exit) \(output.standardError)")
      }
    }
  }

  private static let stopped = "SIGTERM of a worker, replaced by one of the other program"
  private static let killed = "SIGKILL of a worker, replaced by one of the other program"

  static let rolling = FaultCase(
    "upgrade", faults: [stopped, killed],
    invariant: "campaigns continue with two programs; the counts of every user are exact; a resent push is the same",
    bound: "window × kills"
  ) { stage in
    let old = try await Program(oldVariable, announced: "0.0.9")
    let new = try await Program(newVariable, announced: "0.2.0")
    let scene = try await CountedScene(stage) { $0.simulator[1] = "300ms" }
    let world = scene.world
    let fleet = Rolling(world)
    for _ in 0..<3 { try await fleet.start(old.path, old.environment) }
    try await scene.begin()
    // First an upgrade, then a rollback. In the rollback the old program finishes the campaigns that the new one has
    // begun.
    for (from, to) in [(old, new), (new, old)] {
      for turn in 0..<3 {
        // The first worker dies, as in a failed upgrade.
        let dies = turn == 0
        if try await fleet.replace(byKilling: dies, with: to.path, to.environment) {
          stage.fired(dies ? killed : stopped, duplicates: dies ? CountedScene.window : 0)
        } else {
          stage.expect(dies, "a worker that got SIGTERM did not end with 0")
        }
        if turn == 1 { try await see(from, to, stage, world) }
        await stage.elapse(milliseconds: 200...800)
      }
    }
    try await scene.finish(stage)
    stage.addNote("\(old.version) and \(new.version)")
  }

  /// Expects that status and doctor report both versions.
  private static func see(_ from: Program, _ to: Program, _ stage: Stage, _ world: FaultWorld) async throws {
    let expected = Set([from.version, to.version])
    var versions: [String] = []
    do {
      try await until("status names the versions of the workers", within: .seconds(20)) {
        let status = try await world.run(to.path, "status", "--json", environment: to.environment)
        versions = try JSONObject(status.standardOutput).object("workers")?.texts("versions") ?? []
        return Set(versions) == expected
      }
    } catch {
      stage.require(false, "status names \(versions), not \(expected.sorted()): \(error)")
    }
    guard expected.count > 1 else { return }
    let text = try await world.run(to.path, "status", environment: to.environment).standardOutput
    stage.require(text.contains("version \(expected.sorted().joined(separator: " and "))"), "status says \(text)")
    // The exit status also depends on other findings.
    let doctor = try await world.run(to.path, "doctor", environment: to.environment).standardOutput
    stage.require(
      doctor.contains(
        "this program has version \(to.version), workers have \(expected.sorted().joined(separator: " and "))")
        && doctor.contains("upgrade the others one by one"), "doctor says \(doctor)")
  }

  private static let otherLayout = "a worker of a version with another store layout"

  /// A worker that does not support the layout of the store reports this with a hint and changes nothing. The others
  /// continue.
  static let refused = FaultCase(
    "upgrade-refused", faults: [otherLayout],
    invariant: "it refuses the store and explains the remedy; campaigns continue",
    bound: "0: no worker died"
  ) { stage in
    let world = try await stage.world {
      $0.devices = stage.times(short: 600, full: 2000)
      $0.simulator = ["--latency", "200ms"]
    }
    _ = try await Fleet(stage, world, size: 2)
    let campaign = try await world.submit(FaultCampaign("beside"), reaching: 20)
    let environment = ["CARILLON_FAULT_LAYOUT": "99"]
    for _ in 0..<stage.times(short: 1, full: 3) {
      let before = try await stands(world)
      let stranger = try await world.worker("stranger", environment: environment, waits: false)
      stage.require(await stranger.ended() == .status(65), "it did not end with 65: \(stranger.lastWords)")
      let words = stranger.lastWords
      stage.require(
        words.contains("has version") && words.contains("not 99") && words.contains("use the version of Carillon"),
        "it says \(words)")
      let doctor = try await world.run(CarillonCommand.path, "doctor", environment: environment)
      stage.require(
        doctor.exit == .status(1) && doctor.standardOutput.contains("not 99"), "doctor says \(doctor.standardOutput)")
      let submitted = try await world.run(CarillonCommand.path, "segment", "count", "*", environment: environment)
      stage.require(submitted.exit == .status(65), "segment count says \(submitted.standardOutput)")
      stage.require(try await stands(world) == before, "it has changed the store")
      stage.fired(otherLayout)
    }
    try await stage.check(world, after: campaign)
  }

  /// Returns the content of the keys that an incompatible worker would change first.
  private static func stands(_ world: FaultWorld) async throws -> [String] {
    let store = try await world.redis.command("HGETALL", "{\(world.namespace)}:store").get().compactMap(\.string)
    let workers = try await world.redis.command("ZRANGE", "{\(world.namespace)}:workers", 0, -1).get()
    // Redis returns them in the order of their heartbeats.
    return store + workers.compactMap(\.string).sorted()
  }
}

/// A fleet whose workers are replaced in succession.
private final class Rolling {
  private let world: FaultWorld
  private var workers: [WorkerProcess] = []
  private var started = 0

  init(_ world: FaultWorld) { self.world = world }

  func start(_ program: String, _ environment: [String: String]) async throws {
    started += 1
    workers.append(try await world.worker("w\(started)", environment: environment, program: program))
  }

  /// Starts a worker and ends the oldest one.
  ///
  /// - Returns: whether the oldest ended as expected.
  func replace(
    byKilling dies: Bool, with program: String, _ environment: [String: String]
  ) async throws -> Bool {
    try await start(program, environment)
    let oldest = workers.removeFirst()
    return dies ? await world.kill(oldest) : await oldest.terminate() == .status(0)
  }
}
