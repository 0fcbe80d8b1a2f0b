/// Writer of device rows in the format that ``DeviceRowReader`` reads.
public struct DeviceRowWriter: Sendable {
  private let attributes: [String]
  private let services: PushServices
  private var csv: CSVWriter?
  private var json = JSONWriter()

  /// - Parameters:
  ///   - format: the format of the rows; CSV begins with a header.
  ///   - services: the push services of the tokens.
  ///   - attributes: the attributes that get a column in CSV. NDJSON has all attributes of a row.
  ///   - spreadsheetSafe: see ``CSVWriter``. With `true`, ``DeviceRowReader`` can't read every row back unchanged.
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

  /// Appends a row.
  public mutating func append(_ row: DeviceRow) {
    if csv != nil { appendCSV(row) } else { appendJSON(row) }
  }

  /// Returns the bytes that were written since the last call.
  public mutating func take() -> [UInt8] {
    csv?.take() ?? json.take()
  }

  /// Number of bytes that ``take()`` will return.
  public var count: Int { csv?.bytes.count ?? json.bytes.count }

  private mutating func appendCSV(_ row: DeviceRow) {
    for column in DeviceColumn.allCases {
      let text = row.text(of: column, services)
      // If an id looks like a number with a decimal point, ``DeviceRowReader`` accepts it only in quotes.
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
  /// Returns the text of a column in a file. Times are in RFC 3339, and a token has its canonical text.
  ///
  /// - Parameter services: the push services; a token of any other service has no text.
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
