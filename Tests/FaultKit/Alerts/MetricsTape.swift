import TestSupport

/// What Prometheus would have of some processes: what they really served at some moments, each held for some minutes, as
/// alerts look at minutes and tests don't have them. What changes in between is exactly what the processes said.
struct MetricsTape {
  /// How long it is.
  private(set) var minutes = 0
  /// Values by series, as Prometheus writes it, and by minute.
  private var series: [String: [Int: String]] = [:]

  /// Puts what was scraped on the tape.
  ///
  /// - Parameters:
  ///   - scrapes: what each process served, by its name; who serves nothing any more is left out.
  ///   - count: minutes for which it stands.
  mutating func record(_ scrapes: [String: String], minutes count: Int) throws {
    for (instance, text) in scrapes {
      for line in text.split(separator: "\n") where !line.hasPrefix("#") {
        guard let space = line.lastIndex(of: " ") else { throw TestSupportError("no sample: \(line)") }
        let name = Self.series(line[..<space], of: instance)
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

  /// The series as promtool wants them: a value a minute, and what is not there any more marked as Prometheus does it.
  ///
  /// - Parameter epoch: UNIX seconds of the first minute. For promtool that is 1970, so instants are moved by it.
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

  /// The sum of the samples of a metric in one scrape, over all its labels; `nil` when there is none.
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
