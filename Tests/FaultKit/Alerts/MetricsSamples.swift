import TestSupport

/// The samples that Prometheus would have collected from some processes. Alerts fire only after minutes, which are too
/// long for tests. So each real scrape is repeated as the sample of several minutes. The values come only from the
/// processes.
struct MetricsSamples {
  /// Duration of the samples in minutes.
  private(set) var minutes = 0
  /// Values by series, in Prometheus' notation, and by minute.
  private var series: [String: [Int: String]] = [:]

  /// Appends a scrape.
  ///
  /// - Throws: if a scrape has two samples of a series. Prometheus would drop the second one.
  /// - Parameters:
  ///   - scrapes: the metrics of each process by its name, without processes that no longer answer.
  ///   - count: minutes for which the scrape is repeated.
  mutating func record(_ scrapes: [String: String], minutes count: Int) throws {
    for (instance, text) in scrapes {
      var seen: Set<String> = []
      for line in text.split(separator: "\n") where !line.hasPrefix("#") {
        guard let space = line.lastIndex(of: " ") else { throw TestSupportError("no sample: \(line)") }
        let name = Self.series(line[..<space], of: instance)
        guard seen.insert(name).inserted else { throw TestSupportError("two samples of \(name)") }
        for minute in minutes..<(minutes + count) {
          series[name, default: [:]][minute] = String(line[line.index(after: space)...])
        }
      }
    }
    minutes += count
  }

  private static func series(_ name: Substring, of instance: String) -> String {
    let own = #"job="carillon",instance="\#(instance)""#
    guard let brace = name.firstIndex(of: "{") else { return name + "{\(own)}" }
    return name[...brace] + own + "," + name[name.index(after: brace)...]
  }

  /// Returns the series for promtool: one value per minute, and a stale marker after the last value, as in Prometheus.
  ///
  /// - Parameter epoch: UNIX seconds of the first minute. promtool's clock starts in 1970, so `epoch` is subtracted
  ///   from values that are timestamps.
  func inputs(epoch: Int) -> [[String: String]] {
    series.map { name, values in
      let words = (0..<minutes).map { minute -> String in
        guard let value = values[minute] else { return values[minute - 1] == nil ? "_" : "stale" }
        guard name.hasPrefix("carillon_certificate_expiry_timestamp_seconds"), let instant = Double(value) else {
          return value
        }
        return String(instant - Double(epoch))
      }
      return ["series": name, "values": words.joined(separator: " ")]
    }
  }

  /// Returns the sum of a metric's samples in one scrape over all labels; `nil` without samples.
  static func sum(_ name: String, in scrape: String) -> Double? {
    let values = scrape.split(separator: "\n").compactMap { line -> Double? in
      guard line.hasPrefix(name), let next = line.dropFirst(name.count).first, next == "{" || next == " " else {
        return nil
      }
      return line.split(separator: " ").last.flatMap { Double($0) }
    }
    return values.isEmpty ? nil : values.reduce(0, +)
  }
}
