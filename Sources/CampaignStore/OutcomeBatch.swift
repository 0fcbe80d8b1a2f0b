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
    var hasDetail = false
    var record: LedgerRecord

    /// The outcome, if it concerns nothing but the ledger.
    var plainState: UInt8 {
      if !hasDetail, case .terminal(let outcome) = record.state { outcome.rawValue } else { 0 }
    }
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
    entries.append(Entry(index: UInt32(index), hasDetail: true, record: record))
    let start = bytes.count
    bytes.append(contentsOf: token)
    let middle = bytes.count
    bytes.append(contentsOf: user)
    details.append(
      Detail(
        index: UInt32(index), action: action, token: start..<middle, user: middle..<bytes.count, timestamp: timestamp,
        keepsResult: keepsResult, record: record, reason: reason))
  }

  /// Calls `body` with the index of every target in the batch.
  public func forEachIndex(_ body: (Int) -> Void) {
    for entry in entries { body(Int(entry.index)) }
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
    arguments.append(runs())
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

  /// The records as `commit.lua` reads them.
  private func runs() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(entries.count * 16 + 64)
    var start = 0
    while start < entries.count {
      let first = entries[start]
      let state = first.plainState
      var end = start + 1
      while end < entries.count, entries[end].index == entries[end - 1].index + 1, entries[end].plainState == state,
        end - start < Int(UInt16.max)
      {
        end += 1
      }
      for shift in stride(from: 24, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: first.index >> UInt32(shift)))
      }
      bytes.append(UInt8((end - start) >> 8))
      bytes.append(UInt8((end - start) & 255))
      bytes.append(state)
      for entry in entries[start..<end] { entry.record.write(to: &bytes) }
      start = end
    }
    return bytes
  }

  /// `outcome status reason at-ms`, a dash for none.
  private func resultLine(_ detail: Detail) -> [UInt8] {
    guard case .terminal(let outcome) = detail.record.state else { return [] }
    let status = detail.record.status == 0 ? "-" : String(detail.record.status)
    let reason = detail.reason.isEmpty ? "-" : detail.reason
    return Array("\(outcome.name) \(status) \(reason) \(detail.record.at)".utf8)
  }
}
