import PushTransport
import ArgumentParser
import FaultKit
import Foundation
import Glibc
import LedgerModel
import TestSupport

/// `make faults`: plays the cases and prints the results.
@main
struct FaultsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "faults", abstract: "Breaks workers, Redis, APNs and the network, and checks what is left.")

  @Option(help: "What all randomness begins with.") var seed = UInt64.random(in: 0...99_999)
  @Option(help: "Only the cases whose names begin so; may be repeated.") var only: [String] = []
  @Option(help: "Worlds that run at a time.") var worlds = 4
  @Option(help: "Minutes after which no case is begun any more.") var minutes = 28
  @Option(help: "Where the logs of failed cases are kept.") var logs = ".build/faults"
  @Option(help: "A file for the report, as JSON.") var report: String?
  @Option(help: "Instead of the cases: one world for so many hours, and something broken every half minute.")
  var soak: Double?
  @Option(help: "Schedules of the ledger's model, run beside all cases.") var schedules = 1_000_000
  @Option(help: "What workers send with: curl, native, or both: cases take turns, an odd seed begins with native.")
  var engine = "both"
  @Option(help: "With --only upgrade: the program that is upgraded; else the one that was built with this.") var old:
    String?
  @Option(help: "With --only upgrade: the program to which it is.") var new: String?
  @Flag(help: "Only the model.") var model = false
  @Option(help: "With --model: the rule to break, as LedgerModel/Mutant.swift names it.") var mutant: String?
  @Flag(help: "Name the cases and end.") var list = false
  @Flag(help: "The short form, as in make test.") var short = false

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
        throw ValidationError("no mutant is called so; there are \(names)")
      }
      let result = await ModelRun(schedules: schedules, seed: seed, mutant: broken).run()
      say(result.line)
      if !result.isGood { throw ExitCode(1) }
      return
    }
    if let soak { return try await play(Soak(duration: .seconds(3600 * soak))) }
    guard !cases.isEmpty else { throw ValidationError("no case is called so; --list names them") }
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
