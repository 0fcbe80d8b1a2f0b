import CommandSupport
import PushCore

/// A dry run of an import: it shows the meaning of the columns, the number of good rows and the first devices, and
/// stores nothing.
struct DeviceDryRun {
  /// Number of devices to show: enough to check the columns.
  private static let shown = 3

  private let input: InputFile
  private var reader: DeviceRowReader
  private let app: String?
  private let services: PushServices
  private let isJSON: Bool
  private var samples: [DeviceRow] = []
  /// The counts of rows. In a dry run, `imported` is the number of rows that an import would store.
  private(set) var report = ImportReport()

  /// - Parameters:
  ///   - input: the file, at its beginning.
  ///   - reader: the reader, at the beginning of the file.
  ///   - app: the app of rows without an app.
  ///   - services: the push services of the tokens.
  ///   - isJSON: whether bad rows appear only in the JSON report, and not on standard error.
  init(input: InputFile, reader: DeviceRowReader, app: String?, services: PushServices, isJSON: Bool) {
    self.input = input
    self.reader = reader
    self.app = app
    self.services = services
    self.isJSON = isJSON
  }

  /// Reads the whole file.
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

  /// The report as text for people.
  var text: String {
    var lines: [String] = []
    if !report.foreign.columns.isEmpty {
      let rows = report.foreign.columns.map { [Excerpt.bare($0.name), $0.meaning ?? "UNKNOWN, omitted"] }
      lines += [TextTable([["COLUMN", "BECOMES"]] + rows).text, ""]
    }
    if !samples.isEmpty {
      var writer = DeviceRowWriter(format: .ndjson, services: services)
      for sample in samples { writer.append(sample) }
      lines += ["The first devices:", String(decoding: writer.take(), as: UTF8.self)]
    }
    return (lines + [report.text(of: input.path), "dry run: nothing was stored"]).joined(separator: "\n")
  }

  /// The report as JSON.
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
