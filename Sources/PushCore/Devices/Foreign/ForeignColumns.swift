/// What became of the columns and the devices of a foreign export, for whoever wants to know before it is imported.
public struct ForeignColumns: Sendable {
  /// A column that was seen.
  public struct Column: Sendable, Equatable {
    /// Its name, or its path in JSON.
    public var name: String
    /// What it becomes, for people; `nil` where nobody knows: then it is left out.
    public var meaning: String?
    /// Values that could not be used, and so are left out.
    public var unusable = 0
    /// The first of them.
    public var example: String?
  }

  /// Columns that are told one by one: a file with more has data for names.
  static let maximum = 500

  /// In the order in which they were seen.
  public private(set) var columns: [Column] = []
  /// Devices that are none of ours, by the reason.
  public private(set) var leftOut: [String: Int] = [:]
  private var places: [String: Int] = [:]

  /// Nothing was seen yet.
  public init() {}

  /// Names of columns that nobody knows.
  public var unknown: [String] { columns.filter { $0.meaning == nil }.map(\.name) }

  mutating func see(_ name: String, _ meaning: @autoclosure () -> String?) {
    guard places[name] == nil, columns.count < Self.maximum else { return }
    places[name] = columns.count
    columns.append(Column(name: name, meaning: meaning()))
  }

  mutating func refuse(_ text: String, of name: String) {
    guard let place = places[name] else { return }
    columns[place].unusable += 1
    if columns[place].example == nil { columns[place].example = Excerpt.bare(text) }
  }

  mutating func leaveOut(_ reason: String, _ count: Int = 1) { leftOut[reason, default: 0] += count }
}
