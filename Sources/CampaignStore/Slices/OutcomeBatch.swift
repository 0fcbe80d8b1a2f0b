public import PushCore
import Redis

/// The outcomes that one commit writes to the ledger of a slice, in contiguous memory.
public struct OutcomeBatch: Sendable {
  /// The change of the device that an outcome requires.
  public enum Action: Sendable {
    case none, prune, quarantine

    /// Returns the code of the action that `commit.lua` reads. `isOfUser` says whether the device belongs to a user;
    /// false for a raw token.
    fileprivate func code(isOfUser: Bool) -> UInt8 {
      switch self {
      case .prune: (isOfUser ? DeviceNotice.Action.pruned : .prune).rawValue
      case .quarantine: DeviceNotice.Action.quarantine.rawValue
      case .none: DeviceNotice.Action.pruned.rawValue + 1
      }
    }
  }

  /// Properties of result lines that all outcomes of a stretch share. A *stretch* is a run of outcomes with consecutive
  /// indexes.
  fileprivate struct Lines: OptionSet {
    let rawValue: UInt8

    static let none = Lines(rawValue: 1)
    static let all = Lines(rawValue: 2)
    static let allButAccepted = Lines(rawValue: 4)

    /// The code that `commit.lua` reads.
    var code: UInt8 { contains(.none) ? 0 : contains(.all) ? 1 : 2 }
  }

  struct Entry {
    var index: UInt32
    /// Position in `bytes` of the token of its result line.
    var token: UInt32 = 0
    /// Length of that token; 0 if the outcome has no result line.
    var tokenLength: UInt16 = 0
    /// Position in `details` of the outcome's further effects; -1 for none.
    var detail: Int32 = -1
    var record: LedgerRecord

    fileprivate var isTerminal: Bool { record.state.code >= Outcome.accepted.rawValue }

    /// The properties of this outcome. Those of a stretch are the intersection of the properties of its outcomes.
    fileprivate var lines: Lines {
      let isAccepted = record.state == .terminal(.accepted)
      if tokenLength > 0 { return isAccepted ? .all : [.all, .allButAccepted] }
      return isAccepted ? [.none, .allButAccepted] : .none
    }
  }

  /// Further effects of an outcome: neither in the ledger nor in the results hash. Few outcomes have any.
  struct Detail {
    var action: Action
    var token: Range<Int>
    var user: Range<Int>
    var timestamp: UInt64
    /// Text of the reason, if the service has no code for it.
    var unknownReason: [UInt8]
  }

  private(set) var entries: [Entry] = []
  private(set) var details: [Detail] = []
  private var bytes: [UInt8] = []
  private var lineCount = 0
  /// Whether the batch has outcomes of variants.
  private var hasVariants = false

  /// Creates an empty batch.
  public init() {}

  /// Number of outcomes in the batch.
  public var count: Int { entries.count }
  /// Whether the batch is empty.
  public var isEmpty: Bool { entries.isEmpty }

  /// Whether all outcomes in the batch are terminal, so that no target of the batch is retried.
  public var isFinal: Bool { entries.allSatisfy(\.isTerminal) }

  /// Estimated size of the script's arguments, in bytes.
  var estimatedBytes: Int { entries.count * 20 + lineCount * 128 + details.count * 320 }

  /// Adds an outcome that changes only the ledger.
  public mutating func append(_ record: LedgerRecord, at index: Int) {
    add(Entry(index: UInt32(index), record: record))
  }

  private mutating func add(_ entry: Entry) {
    if entry.record.variant != 0 { hasVariants = true }
    entries.append(entry)
  }

  /// Adds an outcome with a line in the results hash.
  ///
  /// - Parameters:
  ///   - record: the outcome. Its reason has a code.
  ///   - index: the index of the target in its slice.
  ///   - token: the token of the target.
  public mutating func append(_ record: LedgerRecord, at index: Int, token: ArraySlice<UInt8>) {
    var entry = Entry(index: UInt32(index), record: record)
    keepLine(of: &entry, token)
    add(entry)
  }

  /// Adds an outcome that changes the device, the results hash, or both.
  ///
  /// - Parameters:
  ///   - record: the outcome.
  ///   - index: the index of the target in its slice.
  ///   - action: the effect on the device.
  ///   - token: the token of the target.
  ///   - user: the user's id in UTF-8; empty for a raw token of a job.
  ///   - timestamp: for `prune`, the time to which the answer refers, in ms since the epoch. If the device registered
  ///     later, it is not pruned.
  ///   - keepsResult: whether the results hash gets a line for the target.
  ///   - unknownReason: the service's text for a reason that has no code. At most 255 bytes are stored.
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
    add(entry)
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

  /// Removes the outcomes, but does not release their memory.
  public mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    details.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
    lineCount = 0
    hasVariants = false
  }

  /// Sorts the outcomes by index, because `commit.lua` reads runs of consecutive indexes.
  mutating func sort() {
    entries.sort { $0.index < $1.index }
  }

  /// The largest time that fits into the 48 bits of a ``DeviceNotice``.
  private static let endOfTime: UInt64 = 1 << 48 - 1

  /// Writes the arguments of `commit.lua` from ARGV 8 on.
  ///
  /// - Parameters:
  ///   - service: the push service of the tokens and reasons.
  ///   - names: the first bytes of the slice's notices: service, app and campaign (``DeviceNotice/Head``).
  ///   - rules: the rules for granting targets of the slice.
  ///   - request: the request of the commit.
  func write(
    to arguments: inout RedisArguments, of service: any PushService, names: [UInt8], rules: PackedGrantRules,
    _ request: CommitRequest
  ) {
    let (heads, ranges) = runs()
    arguments.append(names)
    arguments.append(heads)
    arguments.append(packedDetails())
    arguments.append(rules.app)
    arguments.append(rules.counting)
    if let number = request.departures { arguments.append(number) } else { arguments.append("" as StaticString) }
    arguments.append(request.suspects.count)
    for suspect in request.suspects { suspect.write(to: &arguments) }
    withUnsafeTemporaryAllocation(byteCount: entries.count * LedgerRecord.size, alignment: 1) { buffer in
      let records = buffer.bindMemory(to: UInt8.self)
      for (place, entry) in entries.enumerated() {
        Self.write(entry.record, to: records, at: place * LedgerRecord.size)
      }
      for stretch in ranges {
        let bytes = stretch.lowerBound * LedgerRecord.size..<stretch.upperBound * LedgerRecord.size
        arguments.append(UnsafeRawBufferPointer(rebasing: buffer[bytes]))
      }
    }
    if lineCount > 0 { writeLines(to: &arguments, of: service) }
  }

  /// One more than the largest state code.
  private static let states = Int(Outcome.allCases.map(\.rawValue).max() ?? 0) + 1

  /// Divides the entries into stretches. Returns the description of each stretch in the form that `commit.lua` reads,
  /// and the range of its entries.
  private func runs() -> (heads: [UInt8], ranges: [Range<Int>]) {
    var heads: [UInt8] = []
    var ranges: [Range<Int>] = []
    // An outcome of a variant also counts in the variant's field for its state.
    var tallies = [Int](repeating: 0, count: hasVariants ? VariantCounts.numbers : Self.states)
    var start = 0
    while start < entries.count {
      var (end, details, lines) = (start, 0, entries[start].lines)
      let isTerminal = entries[start].isTerminal
      repeat {
        lines.formIntersection(entries[end].lines)
        let record = entries[end].record
        tallies[Int(record.state.code)] += 1
        if record.variant != 0, isTerminal { tallies[VariantCounts.number(of: record.state.code, record.variant)] += 1 }
        if entries[end].detail >= 0 { details += 1 }
        end += 1
      } while end < entries.count && entries[end].index == entries[end - 1].index + 1
        && entries[end].isTerminal == isTerminal && !entries[end].lines.isDisjoint(with: lines)
        && end - start < Int(UInt16.max)
      Self.append(UInt64(entries[start].index) << 32 | UInt64(end - start) << 16 | UInt64(details), 8, to: &heads)
      heads.append(lines.code)
      let outcomes = heads.count
      heads.append(0)
      for state in tallies.indices where tallies[state] > 0 {
        if isTerminal {
          heads[outcomes] += 1
          Self.append(UInt64(state) << 16 | UInt64(tallies[state]), 3, to: &heads)
        }
        tallies[state] = 0
      }
      ranges.append(start..<end)
      start = end
    }
    return (heads, ranges)
  }

  /// Returns the details in the form that `commit.lua` reads. Each has the index of the target, the fingerprint of the
  /// user (``UserFingerprint``), and a ``DeviceNotice``.
  private func packedDetails() -> [UInt8] {
    guard !details.isEmpty else { return [] }
    var packed: [UInt8] = []
    packed.reserveCapacity(bytes.count + details.count * 32)
    for entry in entries where entry.detail >= 0 {
      let detail = details[Int(entry.detail)]
      Self.append(UInt64(entry.index), 4, to: &packed)
      let user = bytes[detail.user]
      Self.append(user.isEmpty ? 0 : UInt64(UserFingerprint.of(user)), 4, to: &packed)
      packed.append(detail.action.code(isOfUser: !detail.user.isEmpty))
      packed.append(entry.record.reason.rawValue)
      Self.append(detail.timestamp, 6, to: &packed)
      packed.append(UInt8(detail.unknownReason.count))
      packed += detail.unknownReason
      packed.append(length: detail.token.count)
      packed += bytes[detail.token]
      packed.append(length: detail.user.count)
      packed += user
    }
    return packed
  }

  /// Writes a ledger record. The buffer must have room for it.
  private static func write(_ record: LedgerRecord, to buffer: UnsafeMutableBufferPointer<UInt8>, at offset: Int) {
    let words = UInt64(record.state.code) << 24 | UInt64(record.attempt) << 16 | UInt64(record.status)
    for place in 0..<4 { buffer[offset + place] = UInt8(truncatingIfNeeded: words >> UInt64(24 - 8 * place)) }
    let rest = UInt64(record.reason.rawValue) << 56 | UInt64(record.history.rawValue) << 48 | record.packedTime
    for place in 0..<8 { buffer[offset + 4 + place] = UInt8(truncatingIfNeeded: rest >> UInt64(56 - 8 * place)) }
  }

  /// Appends the last `size` bytes of a value, big-endian.
  private static func append(_ value: UInt64, _ size: Int, to bytes: inout [UInt8]) {
    for place in 0..<size { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * (size - 1 - place)))) }
  }

  /// Writes the token's text and the result line of each outcome that has one, in the order of the records.
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
