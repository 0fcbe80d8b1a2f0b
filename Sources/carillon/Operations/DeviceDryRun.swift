import CommandSupport
import PushCore

/// An import of a file that stores nothing: what would become of its columns, its rows, and the first devices.
struct DeviceDryRun {
  /// Devices that are shown: enough to see that the columns are the right ones.
  private static let shown = 3

  private let input: InputFile
  private var reader: DeviceRowReader
  private let app: String?
  private let services: PushServices
  private let isJSON: Bool
  private var samples: [DeviceRow] = []
  /// What would become of the rows; `imported` are those that would be.
  private(set) var report = ImportReport()

  /// - Parameters:
  ///   - input: at its beginning.
  ///   - reader: at its beginning, too.
  ///   - app: of rows that name none.
  ///   - services: those that the tokens are of.
  ///   - isJSON: whether bad rows are told with the report only.
  init(input: InputFile, reader: DeviceRowReader, app: String?, services: PushServices, isJSON: Bool) {
    self.input = input
    self.reader = reader
    self.app = app
    self.services = services
    self.isJSON = isJSON
  }

  /// Reads to the end.
  mutating func read() throws {
    while true {
      let chunk = try input.read()
      for row in chunk.isEmpty ? try reader.finish() : try reader.read(chunk) {
        switch row {
        case .success(var row):
          report.rows += 1
          report.imported += 1
          guard samples.count < Self.shown else { continue }
          row.app = row.app ?? app
          samples.append(row)
        case .failure(let error):
          report.add(error, of: input.path, json: isJSON)
        }
      }
      if chunk.isEmpty { break }
    }
    report.foreign = reader.foreign
  }

  /// For people.
  var text: String {
    var lines: [String] = []
    if !report.foreign.columns.isEmpty {
      let rows = report.foreign.columns.map { [Excerpt.bare($0.name), $0.meaning ?? "UNKNOWN, and left out"] }
      lines += [TextTable([["COLUMN", "BECOMES"]] + rows).text, ""]
    }
    if !samples.isEmpty {
      var writer = DeviceRowWriter(format: .ndjson, services: services)
      for sample in samples { writer.append(sample) }
      lines += ["The first devices:", String(decoding: writer.take(), as: UTF8.self)]
    }
    return (lines + [report.text(of: input.path), "a dry run: nothing is stored"]).joined(separator: "\n")
  }

  /// For machines.
  var json: String {
    JSONWriter.object { json in
      json.member("rows", report.rows)
      json.member("devices", report.imported)
      json.member("skipped", report.skipped)
      if report.withoutZone > 0 { json.member("withoutTimezone", report.withoutZone) }
      json.objects("columns", report.foreign.columns) { json, column in
        json.member("name", column.name)
        json.member("becomes", column.meaning)
      }
      json.array("first", samples) { json, sample in
        var writer = DeviceRowWriter(format: .ndjson, services: services)
        writer.append(sample)
        json.raw(writer.take().dropLast())
      }
      report.foreign.appendCounts(to: &json)
      report.appendErrors(to: &json)
    }
  }
}
