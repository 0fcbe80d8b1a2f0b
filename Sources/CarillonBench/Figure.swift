import CommandSupport
import PushCore

/// Something that was measured.
struct Figure: Sendable {
  /// What is asked of a figure.
  enum Bound: Sendable, Equatable {
    case atMost(Double)
    case atLeast(Double)

    func holds(for value: Double) -> Bool {
      switch self {
      case .atMost(let bound): value <= bound
      case .atLeast(let bound): value >= bound
      }
    }
  }

  /// Names it for programs, such as `campaign.native.all.worker`.
  var key: String
  /// Names it for people.
  var name: String
  /// `µs`, `B`, `/s`; empty for a ratio.
  var unit: String
  /// The median of the samples, unless it was made otherwise.
  var value: Double
  /// What was measured, a sample a round.
  var samples: [Double]
  /// What else is known of it: percentiles, shares, settings.
  var details: [String: Double] = [:]
  /// Why a missed target is none here, such as that all cores were busy.
  var excuse: String?

  /// A figure from the samples of its rounds.
  init(_ key: String, _ name: String, _ unit: String, samples: [Double], details: [String: Double] = [:]) {
    self.init(key, name, unit, value: Rounds(samples).median, samples: samples, details: details)
  }

  /// A figure of its own making.
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

  /// What is asked of it, if anything is.
  var bound: Bound? { BenchTargets.bounds[key] }

  /// `met` or `missed`; empty where nothing is asked.
  var verdict: String {
    guard let bound else { return "" }
    if bound.holds(for: value) { return "met" }
    return excuse ?? "missed"
  }

  /// The row of the table: measure, asked, measured, the rounds' range, verdict.
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

  /// The head of that table.
  static let head = ["measure", "asked", "measured", "range", "verdict"]

  /// Three digits that count, or all before the point.
  static func text(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    if abs(value) >= 100 { return Int(value.rounded()).grouped }
    let scale: Double = abs(value) >= 10 ? 10 : 100
    let rounded = Int((abs(value) * scale).rounded())
    let fraction = String(rounded % Int(scale))
    let padding = String(repeating: "0", count: (scale == 10 ? 1 : 2) - fraction.count)
    return "\(value < 0 ? "-" : "")\(rounded / Int(scale)).\(padding)\(fraction)"
  }

  /// The object of `--json`.
  func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("event", "figure")
    json.member("key", key)
    json.member("name", name)
    json.member("unit", unit)
    json.member("value", value)
    if !samples.isEmpty { json.member("samples", samples) { $0.value($1) } }
    if !details.isEmpty {
      json.name("details")
      json.beginObject()
      for (name, value) in details.sorted(by: { $0.key < $1.key }) { json.member(name, value) }
      json.endObject()
    }
    if bound != nil {
      json.member("asked", row[1])
      json.member("verdict", verdict)
    }
    json.endObject()
  }
}

extension JSONWriter {
  /// A member with an array.
  mutating func member<Value>(_ name: String, _ values: [Value], _ write: (inout JSONWriter, Value) -> Void) {
    self.name(name)
    beginArray()
    for value in values { write(&self, value) }
    endArray()
  }
}
