/// Summary of the columns and devices of a *foreign export*, a file that another push system has exported. `devices
/// import` shows the summary before the import.
public struct ForeignColumns: Sendable {
  /// Column of the export.
  public struct Column: Sendable, Equatable {
    /// Name of the column, or its path in JSON.
    public var name: String
    /// Meaning of the column, for people; `nil` for an unknown column, which is not imported.
    public var meaning: String?
    /// Number of values that can't be used and are not imported.
    public var unusable = 0
    /// First of the unusable values.
    public var example: String?
  }

  /// Maximum number of columns in the summary. In a file with more columns, data has become column names.
  static let maximum = 500

  /// Columns in the order of their first occurrence.
  public private(set) var columns: [Column] = []
  /// Number of devices that are not imported, by reason.
  public private(set) var leftOut: [String: Int] = [:]
  private var places: [String: Int] = [:]

  /// Creates an empty summary.
  public init() {}

  /// Names of unknown columns.
  public var unknown: [String] { columns.filter { $0.meaning == nil }.map(\.name) }

  mutating func record(_ name: String, _ meaning: @autoclosure () -> String?) {
    guard places[name] == nil, columns.count < Self.maximum else { return }
    places[name] = columns.count
    columns.append(Column(name: name, meaning: meaning()))
  }

  mutating func refuse(_ text: String, of name: String) {
    guard let place = places[name] else { return }
    columns[place].unusable += 1
    if columns[place].example == nil { columns[place].example = Excerpt.bare(text) }
  }

  mutating func countOmitted(_ reason: String, _ count: Int = 1) { leftOut[reason, default: 0] += count }
}
