import Foundation
import Redis
import TestKit
import TestSupport
import Testing

@testable import CarillonBench
import CommandSupport
import PushCore

/// Calculations of the benchmark, without measurements.
struct BenchPartsTests {
  @Test func latenciesAreRightToThreeDigits() {
    let latencies = Latencies(milliseconds: (1...2000).map { Double($0) / 10 }.shuffled())
    for (share, exact) in [(0, 0.1), (0.5, 100), (0.99, 198), (1, 200)] {
      expect(abs(latencies.at(share) - exact) <= exact / 1000, "\(share)")
    }
    expect(Latencies().at(0.99) == 0 && Latencies(milliseconds: [-1]).at(1) == 0)
  }

  @Test func roundsHaveAMiddle() {
    let rounds = Rounds((1...200).map(Double.init).shuffled())
    expect(rounds.median == 100.5 && rounds.smallest == 1 && rounds.largest == 200)
    expect(Rounds([3, 1, 9]).median == 3 && Rounds([]).median == 0)
  }

  @Test func figureIsComparedWithItsTarget() {
    var figure = Figure("campaign.native.failures.rate", "rate", "/s", samples: [90_000, 130_000, 100_000])
    expect(figure.value == 100_000 && figure.verdict == "missed")
    expect(figure.row, is: ["rate", "≥ 120,000", "100,000 /s", "90,000 – 130,000", "missed"])
    figure.skippedReason = "met: all cores busy"
    expect(figure.verdict, is: "met: all cores busy")
    figure.value = 120_000
    expect(figure.verdict, is: "met")
    expect(Figure("single.first", "p50", "ms", value: 10).verdict, is: "met")
    expect(Figure("single.first", "p50", "ms", value: 10.1).verdict, is: "missed")
    let free = Figure("other", "other", "", value: 0.5)
    expect(free.bound == nil && free.row == ["other", "", "0.50", "", ""])
  }

  @Test(arguments: [
    (0, "0.00"), (0.994, "0.99"), (0.996, "1.00"), (9.999, "10.00"), (10.04, "10.0"), (99.94, "99.9"), (100, "100"),
    (1_234_567.8, "1,234,568"), (-1.5, "-1.50"), (Double.infinity, "–"),
  ])
  func numbersHaveTheirSignificantDigits(value: Double, text: String) {
    expect(Figure.text(value), is: text)
  }

  @Test func figureAsJSON() throws {
    let figure = Figure("engine.native/h2load", "ratio", "", samples: [0.5, 0.7], details: ["p99": 2])
    var writer = JSONWriter()
    figure.write(to: &writer)
    let json = try JSONObject(writer.text)
    expect(writer.text.contains(#""value":0.6,"#) && json.object("details")?.number("p99") == 2)
    expect(json.text("event") == "figure" && json.text("key") == "engine.native/h2load")
    expect(json.text("asked") == "≤ 0.70" && json.text("verdict") == "met")
  }

  @Test func clientListIsRead() throws {
    let h2load = """
      finished in 1.74s, 115266.51 req/s, 10.70MB/s
      requests: 200000 total, 200000 started, 200000 done, 199950 succeeded, 50 failed, 0 errored, 0 timeout
      status codes: 199950 2xx, 0 3xx, 50 4xx, 0 5xx
      """
    expect(try EngineBench.read(h2load, of: .h2load) == (199_950, 115_266.51))
    let loop = #"{"what":"curl-loop","libcurl":"7.88.1","accepted":5,"failed":0,"pushesPerSecond":14207}"#
    expect(try EngineBench.read(loop, of: .loop) == (5, 14_207))
    #expect(throws: CommandError.self) { try EngineBench.read("could not connect", of: .h2load) }
  }

  @Test func linesOfProgramsAreRead() throws {
    let line = try #require(OutputLine("{\"port\":2197,\"rate\":1.5e3}\nmore".utf8))
    expect(try line.number("port") == 2197 && line.number("rate") == 1500)
    #expect(throws: CommandError.self) { try line.number("other") }
    for text in ["", "{", "[]", "\n{}"] { expect(OutputLine(text.utf8) == nil) }
  }

  @Test func kernelsNumbersAreRead() {
    let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
    let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 10 0 0 0 150 50 9 9 20 0 1 0 100 1000 10"
    expect(ProcessCost.cpuMicroseconds(stat: stat), is: 200 * 1e6 / ticks)
    expect(ProcessCost.cpuMicroseconds(stat: ""), is: 0)
    expect(ProcessCost.machineMicroseconds(stat: "cpu  1 2 3 400 500 6 7 8 0 0\ncpu0 1"), is: 27 * 1e6 / ticks)
    expect(ProcessCost.peakBytes(of: getpid()) > 1_000_000)
  }

  @Test func buffersAreNotData() {
    let info = RedisServerInfo(parsing: "used_memory:1000\r\nmem_clients_normal:100\r\nmem_aof_buffer:10\r\n")
    expect(RedisMemory(info).used, is: 890)
  }

  @Test func redisCommandsAreCountedForEachTarget() {
    let before = RedisCommands(RedisServerInfo(parsing: "cmdstat_evalsha:calls=1,usec=100,usec_per_call=100.00"))
    let after = RedisCommands(
      RedisServerInfo(
        parsing: "cmdstat_evalsha:calls=9,usec=300,usec_per_call=33\r\ncmdstat_config|get:calls=1,usec=50\r\n"))
    expect(after.since(before, each: 100), is: ["evalsha": 2, "config|get": 0.5])
    expect(after.since(after, each: 1).isEmpty)
  }

  @Test func arrivalsAreReadFromTheLogInAnyPieces() {
    let log = """
      1000 1 1 eeee01 6f2a 200
      1005 1 3 eee101 6f2b 200
      1007 2 1 eeee02 - 410
      1100 2 3 eeee03 6f2d -
      1101 2 5 - - 404

      """
    for size in [1, 3, 7, 1000] {
      var arrivals = ArrivalLog(prefix: "eeee")
      let bytes = Array(log.utf8)
      for start in stride(from: 0, to: bytes.count, by: size) {
        arrivals.read(Array(bytes[start..<min(start + size, bytes.count)]))
      }
      expect(arrivals.arrivals == [1.001, 1.008, 1.101] && arrivals.others == 2)
      let first = arrivals.firstAfter([0.999, 1.002, 1.010, 1.2])
      expect(first.map { $0.map { ($0 * 10).rounded() / 10 } }, is: [2, 6, 91, nil])
    }
    var all = ArrivalLog(prefix: "")
    all.read(Array(log.utf8))
    expect(all.arrivals.count == 5 && all.others == 0)
  }

  @Test func ratesAreTakenOverTime() {
    let looks = (1...20).map { (seconds: Double($0) * 0.1, done: $0 * 100) }
    let rates = Timeline.rates(looks, every: 0.5)
    expect(rates.count == 4 && rates.allSatisfy { abs($0.y - 1000) < 1e-6 } && abs(rates[0].x - 0.25) < 1e-9)
    expect(Timeline.rates([], every: 1).isEmpty)
  }

  @Test func devicesAreTheSameForASeed() throws {
    let folder = try ScratchFolder("bench")
    func rows(_ devices: BenchDevices) throws -> [[Substring]] {
      try devices.write(devices: folder.path("devices.csv"), urgent: folder.path("urgent"))
      return try String(contentsOfFile: folder.path("devices.csv"), encoding: .utf8).split(separator: "\n").dropFirst()
        .map { $0.split(separator: ",", omittingEmptySubsequences: false) }
    }
    let devices = BenchDevices(count: 1000, urgent: 10, seed: 7)
    let first = try rows(devices)
    expect(try first == rows(devices) && first != rows(BenchDevices(count: 1000, urgent: 10, seed: 8)))
    expect(first.count == 1010 && Set(first.map { $0[1] }).count == 1010 && Set(first.map { $0[0] }).count == 810)
    for row in first {
      expect(row.count == 7 && row[1].count == 64)
      expect(row[1].hasPrefix(BenchDevices.urgentPrefix), is: row[0].hasPrefix("x"))
    }
    expect(try String(contentsOfFile: folder.path("urgent"), encoding: .utf8).split(separator: "\n").count, is: 10)
    try devices.writeTokens(folder.path("tokens"), prefix: "https://x/")
    let tokens = try String(contentsOfFile: folder.path("tokens"), encoding: .utf8).split(separator: "\n")
    expect(tokens.count == 1000 && tokens.allSatisfy { $0.hasPrefix("https://x/") && $0.count == 74 })
  }

  @Test(arguments: [(9, 2), (10, 2), (11, 2.5), (1, 0.2), (0.3, 0.1), (120_000, 25_000), (26, 10), (0, 1)])
  func axisReachesTheLargest(largest: Double, step: Double) {
    expect(abs(SVGPlot.step(for: largest) - step) < 1e-9)
  }

  @Test func plotIsADocumentWithItsLines() throws {
    var plot = SVGPlot(
      title: "a < b & c", xLabel: "targets", yLabel: "µs", isLogarithmic: true,
      series: [
        .init(name: "worker", points: [(1e5, 4), (1e6, 2), (1e7, 2)]),
        .init(name: "Redis", points: [(1e5, 1), (1e7, 1)]),
      ])
    let parser = XMLText(plot.text)
    expect(parser.elements["polyline"] == 2 && parser.elements["circle"] == 5)
    expect(parser.text.contains("a < b & c") && parser.text.contains("10,000,000"))
    expect(!plot.text.contains("nan") && !plot.text.contains("inf"))
    plot.series = []
    expect(XMLText(plot.text).elements["svg"] == 1 && !plot.text.contains("nan"))
    plot.series = [.init(name: "one", points: [(5, 0)])]
    expect(!plot.text.contains("nan") && !plot.text.contains("inf"))
  }
}

/// A reader for the XML of plots. Counts elements and fails if tags don't match.
private struct XMLText {
  private(set) var elements: [String: Int] = [:]
  private(set) var text = ""

  init(_ document: String) {
    var open: [Substring] = []
    for piece in document.split(separator: "<") {
      let parts = piece.split(separator: ">", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let name = parts[0].split(separator: " ").first else {
        Issue.record("no end of \(piece)")
        continue
      }
      if name.hasPrefix("/") {
        expect(open.popLast(), is: name.dropFirst())
      } else {
        elements[String(name), default: 0] += 1
        if !parts[0].hasSuffix("/") { open.append(name) }
      }
      text += parts[1].replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&amp;", with: "&")
    }
    expect(open.isEmpty)
  }
}
