/// Writes device rows so that ``DeviceRowReader`` reads them back.
public struct DeviceRowWriter: Sendable {
  private let attributes: [String]
  private let services: PushServices
  private var csv: CSVWriter?
  private var json = JSONWriter()

  /// - Parameters:
  ///   - format: CSV begins with its header.
  ///   - services: those that the tokens are of.
  ///   - attributes: the attributes that get a column in CSV; NDJSON writes what a row has.
  ///   - spreadsheetSafe: see ``CSVWriter``; rows written so don't read back the same.
  public init(
    format: DeviceRowReader.Format, services: PushServices, attributes: [String] = [], spreadsheetSafe: Bool = false
  ) {
    self.attributes = attributes
    self.services = services
    guard format == .csv else { return }
    var header = CSVWriter(spreadsheetSafe: spreadsheetSafe)
    for column in DeviceColumn.allCases { header.cell(column.rawValue) }
    for name in attributes { header.cell(name) }
    header.endRecord()
    csv = header
  }

  /// Adds a row.
  public mutating func append(_ row: DeviceRow) {
    if csv != nil { appendCSV(row) } else { appendJSON(row) }
  }

  /// Hands over what has been written since the last time.
  public mutating func take() -> [UInt8] {
    csv?.take() ?? json.take()
  }

  /// How many bytes wait for ``take()``.
  public var count: Int { csv?.bytes.count ?? json.bytes.count }

  private mutating func appendCSV(_ row: DeviceRow) {
    for column in DeviceColumn.allCases {
      let text = row.text(of: column, services)
      // ``DeviceRowReader`` takes such an id in quotes only.
      csv?.cell(text, isQuoted: column == .user && ForeignRow.problem(ofNumber: row.user) != nil)
    }
    for name in attributes { csv?.cell(row.attributes[name]) }
    csv?.endRecord()
  }

  private mutating func appendJSON(_ row: DeviceRow) {
    json.beginObject()
    for column in DeviceColumn.allCases {
      if let text = row.text(of: column, services) { json.member(column.rawValue, text) }
    }
    for (name, value) in row.attributes.sorted(by: { $0.key < $1.key }) { json.member(name, value) }
    json.endObject()
    json.endLine()
  }
}

extension DeviceRow {
  /// What a file holds in a column; instants are RFC 3339, and a token is its canonical text.
  ///
  /// - Parameter services: those that the token is of; there is no text for a token of any other.
  func text(of column: DeviceColumn, _ services: PushServices) -> String? {
    switch column {
    case .user: user
    case .token: services[service]?.text(of: token)
    case .service: service
    case .kind: kind.rawValue
    case .activity: activity
    case .app: app
    case .environment: environment?.rawValue
    case .locale: locale
    case .timezone: timezone
    case .appVersion: appVersion
    case .osVersion: osVersion
    case .registeredAt: registeredAt.map(Timestamp.format(milliseconds:))
    case .lastSeen: lastSeen.map(Timestamp.format(milliseconds:))
    }
  }
}
