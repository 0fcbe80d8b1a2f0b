import PushCore

/// A line of the hash with the results of a slice: `outcome status reason at-ms`, with a dash for a missing value.
struct ResultLine {
  private let service: any PushService
  private(set) var text: [UInt8] = []
  private var record: LedgerRecord?

  /// Creates a line.
  /// - Parameter service: push service that defines the reasons of the records.
  init(service: any PushService) {
    self.service = service
  }

  /// Sets the line for a record. Consecutive targets often have the same record, so an unchanged line is not built
  /// again.
  mutating func set(_ record: LedgerRecord, unknownReason: [UInt8]) {
    if record == self.record, record.reason != .other { return }
    self.record = record
    text.removeAll(keepingCapacity: true)
    guard case .terminal(let outcome) = record.state else { return }
    text.append(contentsOf: outcome.name.utf8)
    append(word: record.status == 0 ? [] : Array(String(record.status).utf8))
    append(word: record.reason == .other ? unknownReason : service.resultText(of: record.reason))
    append(word: Array(String(record.at).utf8))
  }

  private mutating func append(word: [UInt8]) {
    text.append(UInt8(ascii: " "))
    if word.isEmpty { text.append(UInt8(ascii: "-")) } else { text.append(contentsOf: word) }
  }
}
