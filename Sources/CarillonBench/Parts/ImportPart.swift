import CommandSupport
import Foundation
import Glibc
import Redis

/// `devices import` of a file whose first half is already in the store: rates, and the cost per row for Redis and for
/// the program.
struct ImportPart: BenchPart {
  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    let devices = BenchDevices(count: settings.targets, seed: settings.seed)
    let (rows, half) = (world.path("import.csv"), world.path("half.csv"))
    try devices.write(devices: rows, urgent: world.path("nobody"))
    try Self.writeHalf(of: rows, to: half)
    defer { for file in [rows, half, world.path("nobody")] { unlink(file) } }
    let simulator = try await world.startSimulator()
    var runs: [Run] = []
    for round in 0..<settings.rounds {
      report.progress("import: \(devices.count.grouped) rows, round \(round + 1) of \(settings.rounds)")
      let redis = try await world.startRedis(nil)
      let environment = world.environment(simulator, redis)
      _ = try await world.carillon(["devices", "import", half, "--json"], environment: environment)
      runs.append(try await Self.run(rows, world, redis, environment, count: Double(devices.count)))
      await world.stop(redis)
    }
    await world.stop(simulator.process)
    try printResult(runs, of: devices.count, to: report)
  }

  /// Result of one import of all rows.
  private struct Run {
    var rate: Double
    /// Microseconds per row.
    var redis: Double
    var client: Double
    /// Redis commands per row, including those in scripts.
    var commands: Double
    /// Share of all cores that the program and Redis used.
    var used: Double
  }

  private static func run(
    _ file: String, _ world: BenchWorld, _ redis: BenchWorld.RedisProcess, _ environment: [String: String],
    count: Double
  ) async throws -> Run {
    let before = (cpu: ProcessCost.cpuMicroseconds(of: redis.process.id), calls: try await RedisCommands(redis.client))
    let began = WallClock.now
    let end = try await world.carillon(["devices", "import", file, "--json"], environment: environment).end
    let seconds = WallClock.now - began
    let cpu = ProcessCost.cpuMicroseconds(of: redis.process.id) - before.cpu
    let calls = try await RedisCommands(redis.client).total - before.calls.total
    let cores = Double(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    return Run(
      rate: count / seconds, redis: cpu / count, client: end.cpuMicroseconds / count, commands: calls / count,
      used: (cpu + end.cpuMicroseconds) / (seconds * 1e6 * cores))
  }

  private func printResult(_ runs: [Run], of count: Int, to report: BenchReport) throws {
    let name = "import of \(count.grouped) rows, half of them known"
    var rate = Figure("import.rate", "\(name): rows a second", "/s", samples: runs.map(\.rate))
    let used = Rounds(runs.map(\.used)).median
    if used >= BenchTargets.saturation { rate.skippedReason = "met: all cores busy" }
    try report.add(rate)
    try report.add(Figure("import.redis", "\(name): Redis, CPU a row", "µs", samples: runs.map(\.redis)))
    try report.add(Figure("import.client", "\(name): program, CPU a row", "µs", samples: runs.map(\.client)))
    try report.add(Figure("import.commands", "\(name): commands of Redis a row", "", samples: runs.map(\.commands)))
    try report.add(Figure("import.used", "\(name): share of all cores used by these", "", samples: runs.map(\.used)))
  }

  /// Writes the header and the first half of the rows.
  private static func writeHalf(of file: String, to half: String) throws {
    let bytes = try InputFile.contents(file, limit: .max)
    let end = bytes[..<(bytes.count / 2)].lastIndex(of: UInt8(ascii: "\n")) ?? 0
    var first = Array(bytes[...end])
    try OutputFile(half).write(&first)
  }
}
