import CampaignStore
import CommandSupport
import PushCore
import Synchronization

/// One import of a file, from its start to its end or interruption.
struct DeviceImportRun: ~Copyable {
  private let input: InputFile
  private var reader: DeviceRowReader
  private let store: CampaignStore
  private let app: String
  private let isJSON: Bool
  private let stop: StopRequest?
  /// The name under which the position is stored; `nil` if it is not stored.
  private var file: String?
  private var beginning: [UInt8] = []
  private var devices: DeviceImport
  private var bytes = 0
  private var bar: ProgressBar
  /// The counts of the rows so far.
  private(set) var report = ImportReport(outdated: 0, evicted: 0)

  /// - Parameters:
  ///   - input: the file, at its beginning.
  ///   - reader: the reader, at the beginning of the file.
  ///   - store: the destination.
  ///   - app: the app of rows without an app; empty for none.
  ///   - isJSON: whether bad rows appear only in the JSON report, and not on standard error.
  init(input: InputFile, reader: DeviceRowReader, store: CampaignStore, app: String, isJSON: Bool) {
    self.input = input
    self.reader = reader
    self.store = store
    self.app = app
    self.isJSON = isJSON
    devices = DeviceImport(store: store, app: app, file: nil)
    bar = ProgressBar("importing", unit: "rows", total: nil, json: isJSON)
    // A read of a pipe may wait forever, so signals keep their default action if the input is a pipe.
    stop = input.size == nil ? nil : StopRequest()
  }

  /// Whether the import can be resumed.
  var isResumable: Bool { file != nil }

  /// Moves to the first row that the import must read.
  mutating func begin(
    format: DeviceRowReader.Format, from system: ForeignSystem?, resuming: Bool
  ) async throws {
    beginning = try input.read()
    file = ImportIdentity.of(input, beginning: beginning, format: format, app: app, from: system)
    guard let file else { return }
    devices = DeviceImport(store: store, app: app, file: file)
    guard resuming else { return try await store.registry.forgetImport(of: file) }
    guard let known = try await store.registry.importCheckpoint(of: file) else {
      if !isJSON {
        StandardError.write("\(input.path): no interrupted import of this file is known; starting at the first row\n")
      }
      return
    }
    // The first chunk is read for its header only. The rows in it are already stored.
    _ = try reader.read(beginning)
    reader.resume(at: .init(offset: known.offset, line: known.line))
    try input.seek(to: known.offset)
    beginning = []
    bytes = known.offset
    (report.rows, report.skipped, report.withoutZone) = (known.rows, known.skipped, known.withoutZone)
    devices = DeviceImport(
      store: store, app: app, file: file,
      totals: .init(imported: known.imported, outdated: known.outdated, evicted: known.evicted))
    count()
    bar.begin(at: report.rows)
    if !isJSON { StandardError.write("\(input.path): resuming at line \(known.line.grouped)\n") }
  }

  /// Reads the rest of the file.
  ///
  /// - Throws: ``CommandError`` `failed` if the import was interrupted. In this case, all rows that were read are
  ///   stored.
  mutating func read() async throws {
    defer {
      count()
      bar.finish()
    }
    while true {
      let chunk = beginning.isEmpty ? try input.read() : beginning
      beginning = []
      for row in chunk.isEmpty ? try reader.finish() : try reader.read(chunk) {
        switch row {
        case .success(let row):
          report.rows += 1
          try await devices.add(row)
        case .failure(let error):
          bar.finish()
          report.add(error, of: input.path, json: isJSON)
        }
      }
      if chunk.isEmpty { break }
      bytes += chunk.count
      try await devices.sendBatchIfFull(at: position)
      // The number of rows is known only at the end, so it is estimated from the rows read so far.
      bar.update(done: report.rows, total: input.size.map { report.rows * max($0, bytes) / bytes })
      if stop?.isMade == true { return try await interrupt() }
    }
    try await devices.finish(at: nil)
    if let file { try await store.registry.forgetImport(of: file) }
  }

  private mutating func interrupt() async throws {
    let line = reader.mark?.line ?? 0
    try await devices.finish(at: position)
    count()
    throw CommandError(.failed, "interrupted before line \(line.grouped) of \(input.path)")
  }

  private var position: DeviceImport.Position? {
    reader.mark.map {
      DeviceImport.Position(mark: $0, rows: report.rows, skipped: report.skipped, withoutZone: report.withoutZone)
    }
  }

  private mutating func count() {
    report.imported = devices.totals.imported
    report.outdated = devices.totals.outdated
    report.evicted = devices.totals.evicted
    report.foreign = reader.foreign
  }
}

/// A request to stop an import, by SIGINT or SIGTERM.
private struct StopRequest {
  private final class Flag: Sendable {
    let isSet = Atomic(false)
  }

  private let flag = Flag()
  private let signals = ProcessSignals(ProcessSignals.stops)

  init() {
    Task { [flag, numbers = signals.numbers] in
      for await _ in numbers { flag.isSet.store(true, ordering: .relaxed) }
    }
  }

  var isMade: Bool { flag.isSet.load(ordering: .relaxed) }
}
