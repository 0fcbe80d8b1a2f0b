import CommandSupport
import PushCore

/// A measured value.
struct Figure: Sendable {
  /// The target of a figure.
  enum Bound: Sendable, Equatable {
    case atMost(Double)
    case atLeast(Double)

    func isMet(by value: Double) -> Bool {
      switch self {
      case .atMost(let bound): value <= bound
      case .atLeast(let bound): value >= bound
      }
    }
  }

  /// Name for programs, such as `campaign.native.all.worker`.
  var key: String
  /// Name for people.
  var name: String
  /// The unit, such as `µs`, `B` or `/s`; empty for a ratio.
  var unit: String
  /// The median of the samples, or a value that the part calculated.
  var value: Double
  /// The samples, one per round.
  var samples: [Double]
  /// Additional values: percentiles, shares, settings.
  var details: [String: Double] = [:]
  /// Reason why a missed target does not count, for example because all cores were busy.
  var skippedReason: String?

  /// Creates a figure from the samples of its rounds.
  init(_ key: String, _ name: String, _ unit: String, samples: [Double], details: [String: Double] = [:]) {
    self.init(key, name, unit, value: Rounds(samples).median, samples: samples, details: details)
  }

  /// Creates a figure from a calculated value.
  init(
    _ key: String, _ name: String, _ unit: String, value: Double, samples: [Double] = [],
    details: [String: Double] = [:]
  ) {
    self.key = key
    self.name = name
    self.unit = unit
    self.value = value
    self.samples = samples
    self.details = details
  }

  /// The figure's target, if it has one.
  var bound: Bound? { BenchTargets.bounds[key] }

  /// `met`, `missed` or the reason; empty without a target.
  var verdict: String {
    guard let bound else { return "" }
    if bound.isMet(by: value) { return "met" }
    return skippedReason ?? "missed"
  }

  /// The row of the table: measure, target, measured value, range of the rounds, verdict.
  var row: [String] {
    let asked =
      switch bound {
      case .atMost(let bound): "≤ \(Self.text(bound))"
      case .atLeast(let bound): "≥ \(Self.text(bound))"
      case nil: ""
      }
    let range = Rounds(samples)
    let spread = samples.count > 1 ? "\(Self.text(range.smallest)) – \(Self.text(range.largest))" : ""
    return [name, asked, Self.text(value) + (unit.isEmpty ? "" : " " + unit), spread, verdict]
  }

  /// The header of the table.
  static let head = ["measure", "asked", "measured", "range", "verdict"]

  /// Returns the value with three significant digits, or with all digits before the decimal point.
  static func text(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    if abs(value) >= 100 { return Int(value.rounded()).grouped }
    let scale: Double = abs(value) >= 10 ? 10 : 100
    let rounded = Int((abs(value) * scale).rounded())
    let fraction = String(rounded % Int(scale))
    let padding = String(repeating: "0", count: (scale == 10 ? 1 : 2) - fraction.count)
    return "\(value < 0 ? "-" : "")\(rounded / Int(scale)).\(padding)\(fraction)"
  }

  /// Writes the object of `--json`.
  func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("event", "figure")
    json.member("key", key)
    json.member("name", name)
    json.member("unit", unit)
    json.member("value", value)
    if !samples.isEmpty { json.member("samples", samples) { $0.value($1) } }
    if !details.isEmpty {
      json.object("details") { json in
        for (name, value) in details.sorted(by: { $0.key < $1.key }) { json.member(name, value) }
      }
    }
    if bound != nil {
      json.member("asked", row[1])
      json.member("verdict", verdict)
    }
    json.endObject()
  }
}

extension JSONWriter {
  /// Writes a member with an array.
  mutating func member<Value>(_ name: String, _ values: [Value], _ write: (inout JSONWriter, Value) -> Void) {
    self.name(name)
    beginArray()
    for value in values { write(&self, value) }
    endArray()
  }
}
