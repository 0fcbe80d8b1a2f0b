/// A text with metrics in Prometheus' format 0.0.4: one metric family after the other, each with its type and meaning.
public struct Exposition: Sendable {
  /// The kinds of metric.
  public enum Kind: String, Sendable {
    case counter, gauge, histogram
  }

  /// The media type of ``text``.
  public static let type = "text/plain; version=0.0.4; charset=utf-8"

  public private(set) var text = ""
  private var name = ""

  /// Creates an empty exposition.
  public init() {}

  /// Begins a metric family. The samples that are added next belong to it.
  public mutating func family(_ name: String, _ kind: Kind, _ meaning: String) {
    self.name = name
    text += "# HELP \(name) \(meaning)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  /// Adds a sample to the family.
  public mutating func sample(_ value: Int, _ labels: (String, String)...) { line("", String(value), labels) }

  /// Adds a sample to the family.
  public mutating func sample(_ value: Double, _ labels: (String, String)...) { line("", "\(value)", labels) }

  /// Adds a family with one sample.
  public mutating func single(_ name: String, _ kind: Kind, _ meaning: String, _ value: Int) {
    family(name, kind, meaning)
    sample(value)
  }

  /// Adds a histogram to the family.
  ///
  /// - Parameters:
  ///   - bounds: upper bounds of the buckets, in seconds.
  ///   - counts: counts of the buckets. The last one is for values above all bounds.
  ///   - sum: sum of all values, in seconds.
  public mutating func histogram(
    bounds: [Double], counts: [UInt64], sum: Double, _ labels: (String, String)...
  ) {
    var total: UInt64 = 0
    for (index, count) in counts.enumerated() {
      total += count
      let bound = index < bounds.count ? "\(bounds[index])" : "+Inf"
      line("_bucket", String(total), labels + [("le", bound)])
    }
    line("_sum", "\(sum)", labels)
    line("_count", String(total), labels)
  }

  private mutating func line(_ suffix: String, _ value: String, _ labels: [(String, String)]) {
    text += name + suffix
    if !labels.isEmpty {
      text += "{" + labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",") + "}"
    }
    text += " \(value)\n"
  }

  private static func escaped(_ value: String) -> String {
    var escaped = ""
    for character in value.unicodeScalars {
      switch character {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}
