import PushTransport
import ArgumentParser
import FaultKit
import Foundation
import Glibc
import LedgerModel
import TestSupport

/// `make faults`: runs the cases and prints the results.
@main
struct FaultsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "faults",
    abstract: "Inject faults into workers, Redis, push services and the network, and check the results.")

  @Option(help: "Seed of all random decisions.") var seed = UInt64.random(in: 0...99_999)
  @Option(help: "Run only the cases whose names have this prefix. Can be repeated.") var only: [String] = []
  @Option(help: "Number of cases that run at the same time.") var worlds = 4
  @Option(help: "Start no further case after this number of minutes.") var minutes = 120
  @Option(help: "Folder for the logs of failed cases.") var logs = ".build/faults"
  @Option(help: "Write the report to this file, as JSON.") var report: String?
  @Option(help: "Instead of the cases, run one world for this number of hours with a fault every half minute.")
  var soak: Double?
  @Option(help: "Number of schedules of the ledger's model, which runs at the same time as all cases.") var schedules =
    1_000_000
  @Option(
    help: "Engine of the workers: curl, native or both. With both, the cases alternate; an odd seed begins with native."
  )
  var engine = "both"
  @Option(help: "With --only upgrade: the old version of carillon (default: the one of this build).") var old: String?
  @Option(help: "With --only upgrade: the new version of carillon (default: the one of this build).") var new: String?
  @Flag(help: "Run only the model.") var model = false
  @Option(help: "With --model: break this rule; LedgerModel/Mutant.swift has the names.") var mutant: String?
  @Flag(help: "List the cases and exit.") var list = false
  @Flag(help: "Run the short form of each case, as make test does.") var short = false

  func run() async throws {
    for (variable, path) in [(UpgradeCases.oldVariable, old), (UpgradeCases.newVariable, new)] {
      if let path { setenv(variable, URL(fileURLWithPath: path).path, 1) }
    }
    let cases = FaultCases.all.filter { fault in only.isEmpty || only.contains { fault.name.hasPrefix($0) } }
    if list { return cases.forEach { say($0.name + ": " + $0.faults.joined(separator: ", ")) } }
    if model {
      let broken = mutant.flatMap(Mutant.init(name:))
      if mutant != nil, broken == nil {
        let names = Mutant.allCases.map(\.name).joined(separator: ", ")
        throw ValidationError("no mutant has this name; the names are: \(names)")
      }
      let result = await ModelRun(schedules: schedules, seed: seed, mutant: broken).run()
      say(result.line)
      if !result.isGood { throw ExitCode(1) }
      return
    }
    if let soak { return try await play(Soak(duration: .seconds(3600 * soak))) }
    guard !cases.isEmpty else { throw ValidationError("no case has this name; see --list") }
    let runner = FaultRunner(
      seed: seed, engines: try engines(), worlds: worlds, scale: short ? .short : .full, limit: .seconds(60 * minutes),
      logs: URL(fileURLWithPath: logs))
    say("seed \(seed), \(cases.count) cases, \(worlds) worlds at a time")
    // The model does not run with selected cases, because its output would distract from them.
    let model = only.isEmpty && !short ? try await ModelRun(schedules: schedules, seed: seed).start() : nil
    let result = await runner.run(cases) { say($0.line) }
    var isGood = result.isGood
    if let model {
      for await line in model.lines { say(line) }
      if await model.waitForExit() != .status(0) { isGood = false }
    }
    say("\n" + result.table)
    if let report { try result.json.write(to: URL(fileURLWithPath: report)) }
    if !isGood { throw ExitCode(1) }
  }

  private func engines() throws -> [PushEngineKind] {
    if engine == "both" { return PushEngineKind.allCases }
    guard let kind = PushEngineKind(rawValue: engine) else {
      throw ValidationError("--engine must be curl, native or both.")
    }
    return [kind]
  }

  private func play(_ soak: Soak) async throws {
    say("seed \(seed)")
    let engine = FaultCases.engine(of: "soak", among: try engines(), seed: seed)
    let result = await soak.fault { say($0) }.run(
      .full, engine: engine, seed: seed, logs: URL(fileURLWithPath: logs))
    say(result.line)
    if let report { try JSONEncoder().encode(result).write(to: URL(fileURLWithPath: report)) }
    if result.verdict != .passed { throw ExitCode(1) }
  }

  /// Prints a line immediately, also into a file. `print` would buffer it.
  private func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
