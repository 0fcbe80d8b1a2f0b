import PushTransport
import APNs
import PushCore

/// Results of the adaptive stream limit and of fixed ones, with one setting of the simulator.
struct LimitComparison {
  typealias Pair = (adaptive: RateBenchmark.Result, fixed: RateBenchmark.Result)

  let engine: PushEngineKind
  let setting: String
  /// Simultaneous measurements of a fixed limit and the adaptive one, by the fixed limit.
  var pairs: [Int: [Pair]] = [:]

  /// The best rate of a fixed limit; 0 before the first measurement.
  var bestRate: Double { pairs.values.joined().map(\.fixed.perSecond).max() ?? 0 }

  /// The last error of any connection.
  var lastError: String? { pairs.values.joined().lazy.compactMap { $0.fixed.lastError ?? $0.adaptive.lastError }.first }

  /// Returns the fixed limits with the lowest ratio for the adaptive limit.
  func lowestRatios(_ count: Int) -> [Int] {
    pairs.sorted { Self.median(Self.ratios($0.value)) < Self.median(Self.ratios($1.value)) }.prefix(count).map(\.key)
  }

  /// The limit with the lowest ratio, among the limits with the largest number of pairs.
  private var shown: (limit: Int, pairs: [Pair]) {
    let most = pairs.values.map(\.count).max()
    let limit = lowestRatios(pairs.count).first { pairs[$0]?.count == most } ?? 0
    return (limit, pairs[limit] ?? [])
  }

  /// The row of the table.
  var row: [String] {
    let (limit, pairs) = shown
    let ratios = Self.ratios(pairs)
    return [
      engine.rawValue, setting, Self.text(pairs.map(\.adaptive)), Self.text(pairs.map(\.fixed)), String(limit),
      Self.text(Self.median(ratios)), ratios.map(Self.text).joined(separator: " "),
    ]
  }

  /// The output for programs: one object, with the median ratio of every limit.
  var json: String {
    let (limit, pairs) = shown
    var json = JSONWriter()
    json.beginObject()
    json.member("engine", engine.rawValue)
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
    json.object("ratioByLimit") { json in
      for (limit, pairs) in self.pairs.sorted(by: { $0.key < $1.key }) {
        json.name(String(limit))
        json.raw(Array(Self.text(Self.median(Self.ratios(pairs))).utf8))
      }
    }
    json.endObject()
    return String(decoding: json.take(), as: UTF8.self)
  }

  private static func write(_ results: [RateBenchmark.Result], named name: String, to json: inout JSONWriter) {
    json.object(name) { json in
      json.member("perSecond", Int(median(results.map(\.perSecond))))
      json.member("inFlight", Int(median(results.map(\.inFlight))))
    }
  }

  private static func ratios(_ pairs: [Pair]) -> [Double] {
    pairs.map { $0.adaptive.perSecond / max($0.fixed.perSecond, 1) }
  }

  private static func text(_ results: [RateBenchmark.Result]) -> String {
    let (rate, inFlight) = (median(results.map(\.perSecond)), median(results.map(\.inFlight)))
    return "\(Int(rate)) (\(Int(inFlight)))"
  }

  private static func text(_ ratio: Double) -> String {
    let hundredths = Int((ratio * 100).rounded())
    return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
  }

  private static func median(_ values: [Double]) -> Double {
    values.isEmpty ? 0 : values.sorted()[values.count / 2]
  }
}
