public import PushCore
import Redis

/// Outcomes on their way into one slice's ledger, in contiguous storage.
public struct OutcomeBatch: Sendable {
  /// What an outcome does to the device.
  public enum Action: Sendable {
    case none, prune, quarantine

    fileprivate var word: StaticString {
      switch self {
      case .none: ""
      case .prune: "prune"
      case .quarantine: "quarantine"
      }
    }
  }

  /// Which outcomes of a stretch of neighbours have a result line.
  fileprivate struct Lines: OptionSet {
    let rawValue: UInt8

    static let none = Lines(rawValue: 1)
    static let all = Lines(rawValue: 2)
    static let allButAccepted = Lines(rawValue: 4)

    /// As `commit.lua` reads it.
    var code: UInt8 { contains(.none) ? 0 : contains(.all) ? 1 : 2 }
  }

  struct Entry {
    var index: UInt32
    /// Where in `bytes` the token of its result line is.
    var token: UInt32 = 0
    /// 0 when it has no line.
    var tokenLength: UInt16 = 0
    /// Its place in `details`; -1 when it has none.
    var detail: Int32 = -1
    var record: LedgerRecord

    fileprivate var isTerminal: Bool { record.state.code >= Outcome.accepted.rawValue }

    /// What may be said of the lines of a stretch that this one is in.
    fileprivate var lines: Lines {
      let isAccepted = record.state == .terminal(.accepted)
      if tokenLength > 0 { return isAccepted ? .all : [.all, .allButAccepted] }
      return isAccepted ? [.none, .allButAccepted] : .none
    }
  }

  /// What an outcome does beside the ledger and the results hash; few do anything.
  struct Detail {
    var action: Action
    var token: Range<Int>
    var user: Range<Int>
    var timestamp: UInt64
    /// Its reason's text, where the service has no code for it.
    var unknownReason: [UInt8]
  }

  private(set) var entries: [Entry] = []
  private(set) var details: [Detail] = []
  private var bytes: [UInt8] = []
  private var lineCount = 0

  /// Nothing yet.
  public init() {}

  /// Outcomes in the batch.
  public var count: Int { entries.count }
  /// Whether there is none.
  public var isEmpty: Bool { entries.isEmpty }

  /// Whether none of them is a retry.
  public var isFinal: Bool { entries.allSatisfy(\.isTerminal) }

  /// How long its arguments are, at a guess.
  var estimatedBytes: Int { entries.count * 20 + lineCount * 128 + details.count * 320 }

  /// Adds an outcome that concerns the ledger only.
  public mutating func append(_ record: LedgerRecord, at index: Int) {
    entries.append(Entry(index: UInt32(index), record: record))
  }

  /// Adds an outcome that gets a line in the results hash.
  ///
  /// - Parameters:
  ///   - record: the outcome; its reason has a code.
  ///   - index: of the target in its slice.
  ///   - token: of the target.
  public mutating func append(_ record: LedgerRecord, at index: Int, token: ArraySlice<UInt8>) {
    var entry = Entry(index: UInt32(index), record: record)
    keepLine(of: &entry, token)
    entries.append(entry)
  }

  /// Adds an outcome that concerns the device, the results hash, or both.
  ///
  /// - Parameters:
  ///   - record: the outcome.
  ///   - index: of the target in its slice.
  ///   - action: what to do to the device.
  ///   - token: of the target.
  ///   - user: in UTF-8; nothing for a raw token of a job.
  ///   - timestamp: with `prune`: a device that registered after it stays.
  ///   - keepsResult: whether the results hash gets a line.
  ///   - unknownReason: the service's word for a reason that has no code; at most 255 bytes of it are kept.
  public mutating func append(
    _ record: LedgerRecord, at index: Int, action: Action, token: ArraySlice<UInt8>, user: ArraySlice<UInt8>,
    timestamp: UInt64, keepsResult: Bool, unknownReason: String = ""
  ) {
    var entry = Entry(index: UInt32(index), record: record)
    if keepsResult { keepLine(of: &entry, token) }
    if action != .none || record.reason == .other {
      entry.detail = Int32(details.count)
      let start = bytes.count
      bytes.append(contentsOf: token)
      let middle = bytes.count
      bytes.append(contentsOf: user)
      details.append(
        Detail(
          action: action, token: start..<middle, user: middle..<bytes.count, timestamp: min(timestamp, Self.endOfTime),
          unknownReason: record.reason == .other ? Array(unknownReason.utf8.prefix(255)) : []))
    }
    entries.append(entry)
  }

  private mutating func keepLine(of entry: inout Entry, _ token: ArraySlice<UInt8>) {
    guard case .terminal = entry.record.state else { return }
    entry.token = UInt32(bytes.count)
    entry.tokenLength = UInt16(token.count)
    bytes.append(contentsOf: token)
    lineCount += 1
  }

  /// Calls `body` with the index of every target in the batch.
  public func forEachIndex(_ body: (Int) -> Void) {
    for entry in entries { body(Int(entry.index)) }
  }

  /// Removes the outcomes but keeps the memory.
  public mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    details.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
    lineCount = 0
  }

  /// The script reads neighbours at once, so they must stand beside each other.
  mutating func sort() {
    entries.sort { $0.index < $1.index }
  }

  /// The largest time that has a place in a notice.
  private static let endOfTime: UInt64 = 1 << 48 - 1

  /// Writes what `commit.lua` reads.
  ///
  /// - Parameters:
  ///   - service: whose tokens and reasons these are.
  ///   - names: what the notices of the slice begin with, see ``DeviceNotice/Head``.
  func write(to arguments: inout RedisArguments, of service: any PushService, names: [UInt8]) {
    arguments.append(stretches())
    arguments.append(names)
    arguments.append(lineCount)
    if lineCount > 0 { writeLines(to: &arguments, of: service) }
    guard !details.isEmpty else { return }
    for entry in entries where entry.detail >= 0 {
      let detail = details[Int(entry.detail)]
      arguments.append(entry.index)
      arguments.append(detail.action.word)
      arguments.append(bytes[detail.token])
      arguments.append(bytes[detail.user])
      arguments.append(detail.timestamp)
      arguments.append([entry.record.reason.rawValue] + detail.unknownReason)
    }
  }

  /// One more than the largest state.
  private static let states = Int(Outcome.allCases.map(\.rawValue).max() ?? 0) + 1

  /// The records as `commit.lua` reads them.
  private func stretches() -> [UInt8] {
    let head = 10
    let tally = 3
    var tallies = [Int](repeating: 0, count: Self.states)
    return [UInt8](unsafeUninitializedCapacity: entries.count * (head + tally + LedgerRecord.size)) { buffer, count in
      var start = 0
      while start < entries.count {
        var (end, details, lines) = (start, 0, entries[start].lines)
        let isTerminal = entries[start].isTerminal
        repeat {
          lines.formIntersection(entries[end].lines)
          tallies[Int(entries[end].record.state.code)] += 1
          if entries[end].detail >= 0 { details += 1 }
          end += 1
        } while end < entries.count && entries[end].index == entries[end - 1].index + 1
          && entries[end].isTerminal == isTerminal && !entries[end].lines.isDisjoint(with: lines)
          && end - start < Int(UInt16.max)
        let outcomes = count + head - 1
        let sizes = UInt64(end - start) << 16 | UInt64(details)
        count += Self.write(UInt64(entries[start].index) << 32 | sizes, 8, to: buffer, at: count)
        count += Self.write(UInt64(lines.code) << 8, 2, to: buffer, at: count)
        for state in tallies.indices where tallies[state] > 0 {
          if isTerminal {
            buffer[outcomes] += 1
            count += Self.write(UInt64(state) << 16 | UInt64(tallies[state]), tally, to: buffer, at: count)
          }
          tallies[state] = 0
        }
        for entry in entries[start..<end] {
          let (record, free) = (entry.record, UInt64(entry.record.free))
          let words = UInt64(record.state.code) << 24 | UInt64(record.attempt) << 16 | UInt64(record.status)
          count += Self.write(words, 4, to: buffer, at: count)
          let rest = UInt64(record.reason.rawValue) << 56 | free << 48 | record.at & 0xffff_ffff_ffff
          count += Self.write(rest, 8, to: buffer, at: count)
        }
        start = end
      }
    }
  }

  /// Writes the last `size` bytes of a value, big-endian; returns their number. The buffer has the room: its capacity is
  /// that of stretches of one record each.
  private static func write(
    _ value: UInt64, _ size: Int, to buffer: UnsafeMutableBufferPointer<UInt8>, at offset: Int
  ) -> Int {
    for place in 0..<size {
      buffer[offset + place] = UInt8(truncatingIfNeeded: value >> UInt64(8 * (size - 1 - place)))
    }
    return size
  }

  /// The token's text and the line of each outcome that has one, in the order of the records.
  private func writeLines(to arguments: inout RedisArguments, of service: any PushService) {
    var line = ResultLine(service: service)
    withUnsafeTemporaryAllocation(byteCount: 2 * DeviceToken.maximumLength, alignment: 1) { text in
      bytes.withUnsafeBytes { bytes in
        for entry in entries where entry.tokenLength > 0 {
          let start = Int(entry.token)
          let token = UnsafeRawBufferPointer(rebasing: bytes[start..<(start + Int(entry.tokenLength))])
          let length = service.writeText(of: token, to: text)
          arguments.append(UnsafeRawBufferPointer(rebasing: text[..<length]))
          line.set(entry.record, unknownReason: entry.detail < 0 ? [] : details[Int(entry.detail)].unknownReason)
          arguments.append(line.text)
        }
      }
    }
  }
}
