public import PushCore
import Redis

/// Outcomes on their way into one slice's ledger, in contiguous storage.
public struct OutcomeBatch: Sendable {
  /// What an outcome does to the device.
  public enum Action: Sendable {
    case none, prune, quarantine
  }

  private struct Entry {
    var index: UInt32
    var record: LedgerRecord
  }

  /// What the ledger's record has no room for; only outcomes that need it have one.
  private struct Detail {
    var index: UInt32
    var action: Action
    var token: Range<Int>
    var user: Range<Int>
    var timestamp: UInt64
    var keepsResult: Bool
    var record: LedgerRecord
    var reason: String
  }

  private var entries: [Entry] = []
  private var details: [Detail] = []
  private var bytes: [UInt8] = []

  /// Nothing yet.
  public init() {}

  /// Outcomes in the batch.
  public var count: Int { entries.count }
  /// Whether there is none.
  public var isEmpty: Bool { entries.isEmpty }

  var detailBytes: Int { bytes.count + details.count * 160 }

  /// Adds an outcome that concerns the ledger only.
  public mutating func append(_ record: LedgerRecord, at index: Int) {
    entries.append(Entry(index: UInt32(index), record: record))
  }

  /// Adds an outcome that concerns the device, the results hash, or both.
  ///
  /// - Parameters:
  ///   - record: the outcome.
  ///   - index: of the target in its slice.
  ///   - action: what to do to the device.
  ///   - token: raw.
  ///   - user: in UTF-8; nothing for a raw token of a job.
  ///   - timestamp: with `prune`: a device that registered after it stays.
  ///   - keepsResult: whether the results hash gets a line.
  ///   - reason: Apple's word for it.
  public mutating func append(
    _ record: LedgerRecord, at index: Int, action: Action, token: ArraySlice<UInt8>, user: ArraySlice<UInt8>,
    timestamp: UInt64, keepsResult: Bool, reason: String
  ) {
    append(record, at: index)
    let start = bytes.count
    bytes.append(contentsOf: token)
    let middle = bytes.count
    bytes.append(contentsOf: user)
    details.append(
      Detail(
        index: UInt32(index), action: action, token: start..<middle, user: middle..<bytes.count, timestamp: timestamp,
        keepsResult: keepsResult, record: record, reason: reason))
  }

  /// Forgets the outcomes but keeps the memory.
  public mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    details.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
  }

  /// The script reads neighbours at once, so they must stand beside each other.
  mutating func sort() {
    entries.sort { $0.index < $1.index }
  }

  func write(to arguments: inout RedisArguments) {
    var records: [UInt8] = []
    records.reserveCapacity(entries.count * (4 + LedgerRecord.size))
    for entry in entries {
      for shift in stride(from: 24, through: 0, by: -8) {
        records.append(UInt8(truncatingIfNeeded: entry.index >> UInt32(shift)))
      }
      entry.record.write(to: &records)
    }
    arguments.append(records)
    for detail in details {
      arguments.append(Int(detail.index))
      switch detail.action {
      case .none: arguments.append("" as StaticString)
      case .prune: arguments.append("prune" as StaticString)
      case .quarantine: arguments.append("quarantine" as StaticString)
      }
      arguments.append(bytes[detail.token])
      arguments.append(bytes[detail.user])
      arguments.append(detail.timestamp)
      arguments.append(Hex.encode(bytes[detail.token]))
      arguments.append(detail.keepsResult ? resultLine(detail) : [])
      arguments.append(detail.reason)
    }
  }

  /// `outcome status reason at-ms`, a dash for none.
  private func resultLine(_ detail: Detail) -> [UInt8] {
    guard case .terminal(let outcome) = detail.record.state else { return [] }
    let status = detail.record.status == 0 ? "-" : String(detail.record.status)
    let reason = detail.reason.isEmpty ? "-" : detail.reason
    return Array("\(outcome.name) \(status) \(reason) \(detail.record.at)".utf8)
  }
}
