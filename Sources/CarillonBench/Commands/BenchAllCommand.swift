import ArgumentParser
import CommandSupport
import Foundation
import Glibc

/// `carillon-bench all`, the default subcommand of `carillon-bench`.
struct BenchAllCommand: CarillonCommand {
  static let configuration = CommandConfiguration(
    commandName: "all",
    abstract: "Run all benchmarks with a private Redis and simulators, and compare the results with the targets.",
    discussion: """
      Starts the needed processes (redis-server, simulators, workers) on free ports, in a temporary folder, and removes \
      everything at the end. Needs no configuration. Each round measures all variants that are compared, one after the \
      other. The output shows the medians of the rounds. deploy/bench/README.md explains how to read the output.

      Parts: \(BenchParts.all.map(\.name).joined(separator: ", ")).

      Examples:
        carillon-bench --only engine,campaign --rounds 3
        carillon-bench --sizes 100000,1000000,10000000 --output bench.out
      """)

  @OptionGroup var global: GlobalOptions

  @Option(help: "The parts to run, separated by commas (default: all).", transform: Self.words)
  var only: [String] = []

  @Option(help: "The number of rounds.")
  var rounds = 5

  @Option(help: "The number of pushes that measure an engine alone. With libcurl, a fifth of this number.")
  var requests = 1_000_000

  @Option(help: "The number of devices of a whole campaign.")
  var targets = 1_000_000

  @Option(help: "The numbers of devices of the growth measurement, separated by commas.", transform: Self.numbers)
  var sizes = [100_000, 1_000_000]

  @Option(help: "The number of campaigns for the time to the first push.")
  var samples = 200

  @Option(help: "The numbers of clients that claim slices, separated by commas.", transform: Self.numbers)
  var clients = [10, 100, 400]

  @Option(help: "The length of a timed measurement, in seconds.")
  var seconds = 5.0

  @Option(help: "The engines that send whole campaigns, separated by commas.", transform: Self.words)
  var engines = ["native", "curl"]

  @Option(help: "The built deploy/bench/curl-loop.c, to compare with the curl engine.", completion: .file())
  var curlLoop: String?

  @Option(help: "The folder for bench.ndjson, throughput.svg and cost.svg.", completion: .directory)
  var output: String?

  @Option(help: "The seed of tokens and random values.")
  var seed = UInt64.random(in: 0...UInt64(UInt32.max))

  private static func words(_ text: String) -> [String] { text.split(separator: ",").map(String.init) }

  private static func numbers(_ text: String) throws -> [Int] {
    try words(text).map { word in
      guard let number = Int(word), number > 0 else { throw ValidationError("\(word) is not a number above zero.") }
      return number
    }
  }

  func validate() throws {
    guard rounds > 0, requests > 0, targets > 0, samples > 0, seconds > 0 else {
      throw ValidationError("--rounds, --requests, --targets, --samples and --seconds must be above zero.")
    }
    let names = BenchParts.all.map(\.name)
    for name in only where !names.contains(name) {
      throw ValidationError("Unknown part \(name). The parts are \(names.joined(separator: ", ")).")
    }
    for engine in engines where engine != "native" && engine != "curl" {
      throw ValidationError("--engines are native and curl.")
    }
  }

  func run() async throws {
    let signals = ProcessSignals(ProcessSignals.stops)
    let numbers = signals.numbers
    // The signal sources must live until the end.
    defer { withExtendedLifetime(signals) {} }
    let hasFailed = try await withThrowingTaskGroup(of: Bool?.self) { group in
      group.addTask { try await measure() }
      group.addTask {
        for await _ in numbers { break }
        return nil
      }
      // The task that ends first cancels the other one. When the measurement is cancelled, it stops its processes.
      defer { group.cancelAll() }
      return try await group.next() ?? nil
    }
    guard let hasFailed else { throw CommandError(.failed, "interrupted: the started processes are stopped") }
    if hasFailed { throw ExitCode(CommandError.Code.failed.exitStatus) }
  }

  /// - Returns: whether a part failed.
  private func measure() async throws -> Bool {
    let settings = BenchSettings(
      seed: seed, rounds: rounds, requests: requests, targets: targets, sizes: sizes, samples: samples,
      clients: clients,
      seconds: seconds, engines: engines, curlLoop: curlLoop)
    let report = BenchReport(isJSON: global.json)
    let world = try BenchWorld()
    do {
      try report.begin(settings, try await machine(world))
      for (name, part) in BenchParts.all where only.isEmpty || only.contains(name) {
        do {
          try await part.measure(world, settings, report)
        } catch let error where !Task.isCancelled {
          try report.fail(name, error)
          await world.stopAll()
        }
      }
    } catch {
      await world.close()
      throw error
    }
    await world.close()
    try report.end()
    if let output { try report.write(to: output) }
    return !report.failures.isEmpty
  }

  /// Returns a description of the machine and the software.
  private func machine(_ world: BenchWorld) async throws -> [String: String] {
    let processors = (try? InputFile.contents("/proc/cpuinfo", limit: 1 << 22)) ?? []
    let model = String(decoding: processors, as: UTF8.self).firstMatch(of: /model name\s*: (.*)/)?.1
    let load = (try? InputFile.contents("/proc/loadavg", limit: 1 << 10)) ?? []
    let worker = try await world.workerSettings()
    return [
      "worker": "\(worker.connections) connections, window \(worker.window)",
      "processor": String(model ?? "unknown"), "cores": String(sysconf(Int32(_SC_NPROCESSORS_ONLN))),
      "load before": String(decoding: load, as: UTF8.self).split(separator: " ").prefix(3).joined(separator: " "),
      "Redis": try await world.run(["redis-server", "--version"]).output.trimmingCharacters(in: .newlines),
      "h2load": (try? await world.run(["h2load", "--version"]).output.trimmingCharacters(in: .newlines)) ?? "none",
    ]
  }
}
