import CommandSupport
import PushCore

/// What became of an import: counts, and the rows that could not be taken.
struct ImportReport {
  /// A row that was skipped, or of which a detail was refused.
  struct RowError {
    var line: Int
    var message: String
  }

  /// Errors that are told one by one: enough to see what is wrong with a file; a wrong file of millions of rows must not
  /// fill a log or the memory.
  static let maximumErrors = 1000

  var rows = 0
  var imported = 0
  /// Bad rows.
  var skipped = 0
  /// Devices that are kept without a time zone, because theirs was refused.
  var withoutZone = 0
  /// Good rows that changed nothing, because a newer registration of their token stands; `nil` where there is no such
  /// thing.
  var outdated: Int?
  /// Devices that left because their users have too many; `nil` where there is no such thing.
  var crowdedOut: Int?
  /// Of the users that were imported, those that are registered; `nil` where users are not what is imported.
  var known: Int?
  /// What became of the columns of another system's export.
  var foreign = ForeignColumns()
  private(set) var errors: [RowError] = []

  /// Counts a bad row, and says so on standard error at once unless the report is going to be JSON.
  mutating func skip(line: Int, _ message: String, of file: String, json isJSON: Bool) {
    rows += 1
    skipped += 1
    note(line: line, message, of: file, json: isJSON)
  }

  /// Counts an error in a row that is kept, and reports it like ``skip(line:_:of:json:)``.
  mutating func add(_ error: DeviceRowReader.RowError, of file: String, json isJSON: Bool) {
    guard error.isKept else { return skip(line: error.line, error.message, of: file, json: isJSON) }
    withoutZone += 1
    note(line: error.line, error.message, of: file, json: isJSON)
  }

  /// Whether every row was taken whole.
  var isClean: Bool { skipped == 0 && withoutZone == 0 }

  private mutating func note(line: Int, _ message: String, of file: String, json isJSON: Bool) {
    guard errors.count < Self.maximumErrors else {
      if skipped + withoutZone == Self.maximumErrors + 1, !isJSON {
        StandardError.write("\(file): more bad rows are only counted\n")
      }
      return
    }
    errors.append(RowError(line: line, message: message))
    if !isJSON { StandardError.write("\(file):\(line): \(Excerpt.harmless(message))\n") }
  }

  /// The counts for people.
  func text(of file: String) -> String {
    var text = "\(file): \(rows.grouped) \(rows == 1 ? "row" : "rows"), \(imported.grouped) imported"
    if let known, known < imported { text += ", \((imported - known).grouped) of them without a device" }
    if skipped > 0 { text += ", \(skipped.grouped) \(skipped == 1 ? "bad one" : "bad ones") skipped" }
    if withoutZone > 0 { text += ", \(withoutZone.grouped) kept without a time zone" }
    if let outdated, outdated > 0 { text += ", \(outdated.grouped) older than what is registered" }
    if let crowdedOut, crowdedOut > 0 { text += ", \(crowdedOut.grouped) left users who have too many" }
    return text + foreign.countsText
  }

  /// The counts for machines.
  var json: String {
    JSONWriter.object { json in
      json.member("rows", rows)
      json.member("imported", imported)
      json.member("skipped", skipped)
      if withoutZone > 0 { json.member("withoutTimezone", withoutZone) }
      if let outdated { json.member("outdated", outdated) }
      if let crowdedOut, crowdedOut > 0 { json.member("crowdedOut", crowdedOut) }
      if let known { json.member("known", known) }
      foreign.appendCounts(to: &json)
      appendErrors(to: &json)
    }
  }

  /// The bad rows, as a member of an object.
  func appendErrors(to json: inout JSONWriter) {
    json.objects("errors", errors) { json, error in
      json.member("line", error.line)
      json.member("message", error.message)
    }
  }
}
