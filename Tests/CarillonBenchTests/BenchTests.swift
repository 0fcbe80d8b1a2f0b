import Foundation
import TestKit
import TestSupport
import Testing

@testable import CarillonBench

/// Tests that the benchmark program works; the measured values do not matter.
@Suite(.takesTurns) struct BenchTests {
  private static let program = CarillonCommand.path(of: "carillon-bench")
  private static let tiny = [
    "--rounds", "1", "--requests", "500", "--targets", "1000", "--sizes", "500,1000", "--samples", "2", "--clients",
    "4",
    "--seconds", "0.2", "--seed", "1",
  ]

  /// Parts of the short form, which take a second or two. The long form measures everything.
  private static let shortParts = ["engine", "ceiling", "single", "claims", "fleet", "import"]

  @Test(.timeLimit(.minutes(6))) func everyFigureWithATargetIsMeasured() async throws {
    let parts = TestForm.isLong ? BenchParts.all.map(\.name) : Self.shortParts
    let folder = try ScratchFolder("bench")
    let output = try await ChildProcess.run(
      Self.program, ["--json", "--only", parts.joined(separator: ","), "--output", folder.path("out")] + Self.tiny,
      environment: ["TMPDIR": folder.path("")])
    expect(output.exit, is: .status(0), "\(output.standardOutput)\(output.standardError)")
    let lines = try JSONObject.all(in: output.standardOutput)
    expect(lines.first?.text("event"), is: "settings")
    let figures = lines.filter { $0.text("event") == "figure" }
    let keys = Set(figures.compactMap { $0.text("key") })
    // The libcurl loop is not compiled here.
    let bounded = BenchTargets.bounds.keys.filter { parts.contains(String($0.prefix { $0 != "." })) }
    expect(Set(bounded).subtracting(keys), is: ["engine.curl/loop"])
    expect(figures.count == keys.count && figures.allSatisfy { $0.names.contains("value") })
    expect(
      Set(figures.filter { $0.text("verdict") != nil }.compactMap { $0.text("key") }).isSubset(
        of: BenchTargets.bounds.keys))
    let held = try #require(figures.first { $0.text("key") == "claims.4.held" })
    expect(held.number("value"), is: 0)

    expect(try String(contentsOfFile: folder.path("out/bench.ndjson"), encoding: .utf8), is: output.standardOutput)
    for plot in TestForm.isLong ? ["throughput.svg", "cost.svg"] : [] {
      expect(try String(contentsOfFile: folder.path("out/" + plot), encoding: .utf8).contains("<polyline"))
    }
    expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("")), is: ["out"])
    expect(try Self.processes(of: folder), is: [])
  }

  @Test func leavesNothingWhenInterrupted() async throws {
    let folder = try ScratchFolder("bench")
    let bench = try await ChildProcess.start(
      Self.program, ["--only", "single", "--samples", "1000000"],
      environment: ["TMPDIR": folder.path("")])
    // At this line the benchmark has started a Redis, a simulator and a worker.
    _ = try #require(await bench.errorLine(containing: "single:"))
    expect(try !Self.processes(of: folder).isEmpty)
    bench.send(signal: SIGINT)
    expect(await bench.waitForExit(), is: .status(1))
    expect(await bench.errorLine(containing: "interrupted") != nil)
    expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("")), is: [])
    expect(try Self.processes(of: folder), is: [])
  }

  @Test func failedPartIsReportedAndTheOthersRun() async throws {
    let folder = try ScratchFolder("bench")
    let output = try await ChildProcess.run(
      Self.program, ["--only", "engine,claims", "--curl-loop", "/bin/false"] + Self.tiny,
      environment: ["TMPDIR": folder.path("")])
    expect(output.exit, is: .status(1))
    expect(output.standardOutput.contains("not measured: engine: false ended with 1"))
    expect(output.standardOutput.contains("4 clients that claim"))
    expect(try Self.processes(of: folder), is: [])
  }

  @Test(arguments: [
    ["--only", "engines"], ["--rounds", "0"], ["--sizes", "1,x"], ["--engines", "carrier-pigeon"],
    ["limits", "--engine", "carrier-pigeon"],
  ])
  func invalidArgumentsAreUsageErrors(arguments: [String]) async throws {
    let output = try await ChildProcess.run(Self.program, arguments)
    expect(output.exit, is: .status(64))
  }

  /// Returns the ids of processes that have the folder's name in their arguments.
  private static func processes(of folder: ScratchFolder) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { id in
      guard Int32(id) != nil else { return false }
      // A process that has just ended has no arguments.
      let words = FileManager.default.contents(atPath: "/proc/\(id)/cmdline") ?? Data()
      return String(decoding: words, as: UTF8.self).contains(folder.url.lastPathComponent)
    }
  }
}
