import APNs
import PushCore

/// What the adaptive stream limit reached beside fixed ones, under one setting of the simulator.
struct LimitComparison {
  typealias Pair = (adaptive: RateBenchmark.Result, fixed: RateBenchmark.Result)

  let setting: String
  /// Fixed limits, each measured once.
  var trials: [Int: RateBenchmark.Result] = [:]
  /// The best of them, measured in turns with the adaptive limit.
  var pairs: [Int: [Pair]] = [:]

  /// The best rate of a fixed limit in its trial; 0 before anything was measured.
  var bestRate: Double { trials.values.map(\.perSecond).max() ?? 0 }

  /// The limits that were best in their trials.
  func best(_ count: Int) -> [Int] {
    trials.sorted { $0.value.perSecond > $1.value.perSecond }.prefix(count).map(\.key)
  }

  /// The fixed limit beside which the adaptive one looks worst.
  private var toughest: (limit: Int, pairs: [Pair]) {
    pairs.min { Self.median(Self.ratios($0.value)) < Self.median(Self.ratios($1.value)) }.map { ($0.key, $0.value) }
      ?? (0, [])
  }

  /// For people.
  var row: [String] {
    let (limit, pairs) = toughest
    let ratios = Self.ratios(pairs)
    return [
      setting, Self.text(pairs.map(\.adaptive)), Self.text(pairs.map(\.fixed)), String(limit),
      Self.text(Self.median(ratios)), ratios.map(Self.text).joined(separator: " "),
    ]
  }

  /// For programs: one object, with what every limit came to in its trial.
  var json: String {
    let (limit, pairs) = toughest
    var json = JSONWriter()
    json.beginObject()
    json.member("setting", setting)
    Self.write(pairs.map(\.adaptive), named: "adaptive", to: &json)
    Self.write(pairs.map(\.fixed), named: "fixed", to: &json)
    json.member("limit", limit)
    json.name("ratio")
    json.raw(Array(Self.text(Self.median(Self.ratios(pairs))).utf8))
    json.name("ratios")
    json.beginArray()
    for ratio in Self.ratios(pairs) { json.raw(Array(Self.text(ratio).utf8)) }
    json.endArray()
    json.name("trials")
    json.beginObject()
    for (limit, result) in trials.sorted(by: { $0.key < $1.key }) {
      json.member(String(limit), Int(result.perSecond))
    }
    json.endObject()
    json.endObject()
    return String(decoding: json.take(), as: UTF8.self)
  }

  private static func write(_ results: [RateBenchmark.Result], named name: String, to json: inout JSONWriter) {
    json.name(name)
    json.beginObject()
    json.member("perSecond", Int(median(results.map(\.perSecond))))
    json.member("inFlight", Int(median(results.map(\.inFlight))))
    json.member("cpuMicroseconds", Int(median(results.map(\.cpuPerPush))))
    json.endObject()
  }

  private static func ratios(_ pairs: [Pair]) -> [Double] {
    pairs.map { $0.adaptive.perSecond / max($0.fixed.perSecond, 1) }
  }

  private static func text(_ results: [RateBenchmark.Result]) -> String {
    let (rate, inFlight) = (median(results.map(\.perSecond)), median(results.map(\.inFlight)))
    return "\(Int(rate)) (\(Int(inFlight)); \(Int(median(results.map(\.cpuPerPush)))))"
  }

  private static func text(_ ratio: Double) -> String {
    let hundredths = Int((ratio * 100).rounded())
    return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
  }

  private static func median(_ values: [Double]) -> Double {
    values.isEmpty ? 0 : values.sorted()[values.count / 2]
  }
}
