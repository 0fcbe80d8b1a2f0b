import CommandSupport
import Foundation
import Glibc
import PushCore

/// Output of a benchmark: progress on standard error, figures (immediately as JSON lines, or in one table at the end),
/// and plots.
final class BenchReport {
  /// Targets per second over time, a line for each kind of campaign.
  var timelines: [SVGPlot.Series] = []
  /// CPU time per target over the size of the campaign.
  var costs: [SVGPlot.Series] = []
  private(set) var figures: [Figure] = []
  /// Parts that could not be measured, with the reasons.
  private(set) var failures: [String] = []

  private let isJSON: Bool
  /// The JSON lines so far.
  private var lines: [String] = []

  init(isJSON: Bool) {
    self.isJSON = isJSON
  }

  /// Prints the settings and the machine as `name: value`.
  func begin(_ settings: BenchSettings, _ machine: [String: String]) throws {
    try append { json in
      json.beginObject()
      json.member("event", "settings")
      json.name("settings")
      settings.write(to: &json)
      json.object("machine") { json in
        for (name, value) in machine.sorted(by: { $0.key < $1.key }) { json.member(name, value) }
      }
      json.endObject()
    }
    guard !isJSON else { return }
    for (name, value) in machine.sorted(by: { $0.key < $1.key }) { try StandardOutput.printLine("\(name): \(value)") }
    try StandardOutput.printLine(settings.description + "\n")
  }

  /// Prints the current measurement.
  func progress(_ text: String) { StandardError.write(text + "\n") }

  func add(_ figure: Figure) throws {
    figures.append(figure)
    try append { figure.write(to: &$0) }
  }

  /// Records that a part could not be measured. The other parts continue.
  func fail(_ part: String, _ error: any Error) throws {
    let message = CommandError(error).message
    failures.append("\(part): \(message)")
    progress("\(part) failed: \(message)")
    try append { json in
      json.beginObject()
      json.member("event", "failed")
      json.member("part", part)
      json.member("message", message)
      json.endObject()
    }
  }

  /// Prints the table: figures with a target first, in the order of the parts.
  func end() throws {
    guard !isJSON else { return }
    let rows = figures.filter { $0.bound != nil } + figures.filter { $0.bound == nil }
    try StandardOutput.printLine(TextTable([Figure.head] + rows.map(\.row)).text)
    for failure in failures { try StandardOutput.printLine("not measured: \(failure)") }
  }

  /// Writes figures and plots into a folder.
  func write(to folder: String) throws {
    guard mkdir(folder, 0o777) == 0 || errno == EEXIST else { throw FileError.last(folder) }
    try write(lines.joined(separator: "\n") + "\n", folder + "/bench.ndjson")
    if !timelines.isEmpty {
      try write(
        SVGPlot(
          title: "Throughput of a campaign, by the slices that ended", xLabel: "seconds from LPUSH",
          yLabel: "targets a second", series: timelines
        ).text, folder + "/throughput.svg")
    }
    if !costs.isEmpty {
      try write(
        SVGPlot(
          title: "Cost of a target by size of the campaign", xLabel: "targets", yLabel: "CPU µs a target",
          isLogarithmic: true, series: costs
        ).text, folder + "/cost.svg")
    }
  }

  private func write(_ text: String, _ path: String) throws(FileError) {
    var bytes = Array(text.utf8)
    try OutputFile(path).write(&bytes)
  }

  private func append(_ write: (inout JSONWriter) -> Void) throws {
    var json = JSONWriter()
    write(&json)
    lines.append(json.text)
    if isJSON { try StandardOutput.printLine(json.text) }
  }
}

extension BenchSettings {
  /// The settings in one line.
  var description: String {
    let numbers = { (list: [Int]) in list.map(\.grouped).joined(separator: " ") }
    return "seed \(seed), \(rounds) rounds, \(requests.grouped) pushes of an engine alone, campaigns to "
      + "\(targets.grouped), growth over \(numbers(sizes)), \(samples) samples of latencies, \(numbers(clients)) claiming"
  }

  /// Writes the object of `--json`.
  func write(to json: inout JSONWriter) {
    json.beginObject()
    json.name("seed")
    json.raw(String(seed).utf8)
    json.member("rounds", rounds)
    json.member("requests", requests)
    json.member("targets", targets)
    json.member("sizes", sizes) { $0.value($1) }
    json.member("samples", samples)
    json.member("clients", clients) { $0.value($1) }
    json.member("seconds", seconds)
    json.member("engines", engines) { $0.value($1) }
    json.member("curlLoop", curlLoop)
    json.endObject()
  }
}
