import CommandSupport
import PushCore

/// The result of an import: counts and bad rows.
struct ImportReport {
  /// A row that was skipped, or that was imported without a detail that was refused.
  struct RowError {
    var line: Int
    var message: String
  }

  /// Maximum number of errors that are reported one by one: enough to find the problem of a file. The number is
  /// limited, because a wrong file with millions of rows must not fill the log or the memory.
  static let maximumErrors = 1000

  var rows = 0
  var imported = 0
  /// Bad rows.
  var skipped = 0
  /// Devices that are stored without a time zone, because their time zone was refused.
  var withoutZone = 0
  /// Good rows that changed nothing because their token has a newer registration; `nil` if this can't happen.
  var outdated: Int?
  /// Devices removed because their users exceed the device limit; `nil` if this can't happen.
  var evicted: Int?
  /// Number of imported users that have a device; `nil` for an import of devices.
  var known: Int?
  /// The mapping of the columns of another system's export.
  var foreign = ForeignColumns()
  private(set) var errors: [RowError] = []

  /// Counts a bad row and reports it on standard error immediately, except with JSON output.
  mutating func skip(line: Int, _ message: String, of file: String, json isJSON: Bool) {
    rows += 1
    skipped += 1
    report(line: line, message, of: file, json: isJSON)
  }

  /// Counts a bad row, or a row that is stored without a refused detail, and reports the error like
  /// ``skip(line:_:of:json:)``.
  mutating func add(_ error: DeviceRowReader.RowError, of file: String, json isJSON: Bool) {
    guard error.isKept else { return skip(line: error.line, error.message, of: file, json: isJSON) }
    withoutZone += 1
    report(line: error.line, error.message, of: file, json: isJSON)
  }

  /// Whether every row was imported completely.
  var isClean: Bool { skipped == 0 && withoutZone == 0 }

  private mutating func report(line: Int, _ message: String, of file: String, json isJSON: Bool) {
    guard errors.count < Self.maximumErrors else {
      if skipped + withoutZone == Self.maximumErrors + 1, !isJSON {
        StandardError.write("\(file): further bad rows are only counted\n")
      }
      return
    }
    errors.append(RowError(line: line, message: message))
    if !isJSON { StandardError.write("\(file):\(line): \(Excerpt.harmless(message))\n") }
  }

  /// Returns the counts as text for people.
  func text(of file: String) -> String {
    var text = "\(file): \(rows.grouped) \(rows == 1 ? "row" : "rows"), \(imported.grouped) imported"
    if let known, known < imported { text += ", \((imported - known).grouped) of them without a device" }
    if skipped > 0 { text += ", \(skipped.grouped) bad \(skipped == 1 ? "row" : "rows") skipped" }
    if withoutZone > 0 { text += ", \(withoutZone.grouped) stored without a time zone" }
    if let outdated, outdated > 0 { text += ", \(outdated.grouped) older than the present registration" }
    if let evicted, evicted > 0 { text += ", \(evicted.grouped) removed from users with too many devices" }
    return text + foreign.countsText
  }

  /// The counts as JSON.
  var json: String {
    JSONWriter.object { json in
      json.member("rows", rows)
      json.member("imported", imported)
      json.member("skipped", skipped)
      if withoutZone > 0 { json.member("withoutTimezone", withoutZone) }
      if let outdated { json.member("outdated", outdated) }
      if let evicted, evicted > 0 { json.member("evicted", evicted) }
      if let known { json.member("known", known) }
      foreign.appendCounts(to: &json)
      appendErrors(to: &json)
    }
  }

  /// Writes the bad rows as a member of the open object.
  func appendErrors(to json: inout JSONWriter) {
    json.objects("errors", errors) { json, error in
      json.member("line", error.line)
      json.member("message", error.message)
    }
  }
}
