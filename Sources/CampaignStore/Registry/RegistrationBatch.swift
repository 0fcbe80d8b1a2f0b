import PushCore
import Redis

/// Devices that register together, encoded once as they go to Redis.
///
/// They register in their order. A token is in a batch for one user only, or who has it in the end is found out with one
/// more look at each.
public struct RegistrationBatch: Sendable {
  /// One registration; places are offsets into ``bytes``.
  struct Row {
    /// Where `at:user` begins, as the owner index has it.
    var start: Int
    /// Where the user begins.
    var user: Int
    /// Where the device record begins, and the user ends.
    var record: Int
    /// Where the attributes begin, and the record ends.
    var attributes: Int
    var end: Int
    /// ms since the epoch.
    var registeredAt: UInt64
    var userPartition: Int
    var tokenPartition: Int
  }

  /// Rows of one partition that go to Redis in one call of a script.
  struct Part {
    var partition: Int
    /// Indexes of rows, ascending.
    var rows: ArraySlice<Int>
  }

  /// Rows of a script's call at most: a quarter of a millisecond of Redis' time.
  private static let partRows = 96
  /// Bytes of a script's call from which on no row is added: rows are some hundred, but a record may have 64 KiB.
  private static let partBytes = 128 << 10

  private(set) var bytes: [UInt8] = []
  private(set) var rows: [Row] = []
  /// The rows of tokens of a Live Activity, by its name.
  private(set) var activities: [String: [Int]] = [:]
  private let partitions: Int
  private let services: PushServices

  /// How many registrations there are.
  public var count: Int { rows.count }
  /// Whether there is none.
  public var isEmpty: Bool { rows.isEmpty }

  init(partitions: Int, services: PushServices) {
    self.partitions = partitions
    self.services = services
  }

  /// Makes room for so many more registrations of usual size.
  public mutating func reserve(_ count: Int) {
    rows.reserveCapacity(rows.count + count)
    bytes.reserveCapacity(bytes.count + count * 192)
  }

  /// Cuts times that are later than `now` to it.
  ///
  /// - Parameter now: ms since the epoch, by Redis' clock.
  mutating func cut(to now: UInt64) throws(StoreError) {
    let isAhead = bytes.withUnsafeBytes { bytes in
      rows.contains { row in
        DeviceCursor(UnsafeRawBufferPointer(rebasing: bytes[row.record..<row.attributes]))
          .contains { $0.seenAt > now }
      }
    }
    guard isAhead else { return }
    var batch = RegistrationBatch(partitions: partitions, services: services)
    batch.reserve(count)
    for row in rows.indices {
      guard var registration = registration(row) else { continue }
      registration.device.registeredAt = min(registration.device.registeredAt, now)
      registration.device.lastSeen = min(registration.device.lastSeen, now)
      try batch.append(registration)
    }
    self = batch
  }

  /// Adds a registration.
  ///
  /// - Throws: ``StoreError`` `invalid` when the device is too long to be stored, `mismatch` when its service is not known
  ///   here. Then nothing is added.
  public mutating func append(_ registration: DeviceRegistration) throws(StoreError) {
    let device = registration.device
    let start = bytes.count
    do throws(StoreError) {
      bytes.append(decimal: device.registeredAt)
      bytes.append(UInt8(ascii: ":"))
      let user = bytes.count
      bytes.append(contentsOf: registration.user.utf8)
      let record = bytes.count
      try device.write(to: &bytes)
      let attributes = bytes.count
      bytes.append(contentsOf: registration.attributes)
      guard let service = services[device.service] else { throw StoreError.unknownService(device.service) }
      rows.append(
        Row(
          start: start, user: user, record: record, attributes: attributes, end: bytes.count,
          registeredAt: device.registeredAt, userPartition: Partition.of(user: registration.user, count: partitions),
          tokenPartition: Partition.of(token: device.token, of: service, count: partitions)))
      if let activity = device.activity { activities[activity, default: []].append(rows.count - 1) }
    } catch {
      bytes.removeSubrange(start...)
      throw error
    }
  }

  /// The rows of each partition in parts, the rows in their order.
  ///
  /// - Parameters:
  ///   - chosen: indexes of rows, ascending.
  ///   - partition: which of a row's two is meant.
  func parts(of chosen: some Collection<Int>, by partition: KeyPath<Row, Int>) -> [Part] {
    // Counting places them in one pass, whatever the number of partitions.
    var ends = [Int](repeating: 0, count: partitions + 1)
    let belongs = chosen.map { rows[$0][keyPath: partition] }
    for number in belongs { ends[number + 1] += 1 }
    for number in 0..<partitions { ends[number + 1] += ends[number] }
    var sorted = [Int](repeating: 0, count: belongs.count)
    for (row, number) in zip(chosen, belongs) {
      sorted[ends[number]] = row
      ends[number] += 1
    }
    var parts: [Part] = []
    var start = 0
    while start < sorted.count {
      let number = rows[sorted[start]][keyPath: partition]
      var end = start
      var size = 0
      while end < ends[number], end - start < Self.partRows, size < Self.partBytes {
        size += rows[sorted[end]].end - rows[sorted[end]].start
        end += 1
      }
      parts.append(Part(partition: number, rows: sorted[start..<end]))
      start = end
    }
    return parts
  }

  /// The registration of a row.
  func registration(_ index: Int) -> DeviceRegistration? {
    let row = rows[index]
    let device = bytes.withUnsafeBytes {
      DeviceRecord.all(in: UnsafeRawBufferPointer(rebasing: $0[row.record..<row.attributes])).first
    }
    return device.map {
      DeviceRegistration(user: user(of: index), device: $0, attributes: Array(bytes[row.attributes..<row.end]))
    }
  }

  func user(of index: Int) -> String {
    String(decoding: bytes[rows[index].user..<rows[index].record], as: UTF8.self)
  }

  func token(of index: Int) -> ArraySlice<UInt8> {
    let record = rows[index].record
    return bytes[(record + DeviceView.tokenStart)..<(record + tokenEnd(at: record))]
  }

  private func tokenEnd(at record: Int) -> Int {
    bytes.withUnsafeBytes { DeviceView.tokenStart + $0.length(at: record + DeviceView.tokenStart - 2) }
  }

  // MARK: Arguments of scripts

  /// What `bind.lua` asks of a part.
  func appendOwners(of part: Part, to arguments: inout RedisArguments) {
    // The buffer is read within this call only, as are those below.
    bytes.withUnsafeBytes { bytes in
      for index in part.rows {
        let row = rows[index]
        let token = row.record + DeviceView.tokenStart
        arguments.append(UnsafeRawBufferPointer(rebasing: bytes[token..<(token + bytes.length(at: token - 2))]))
        arguments.append(UnsafeRawBufferPointer(rebasing: bytes[row.start..<row.record]))
      }
    }
  }

  /// What `upsert.lua` asks of a part.
  func appendDevices(of rows: ArraySlice<Int>, to arguments: inout RedisArguments) {
    bytes.withUnsafeBytes { bytes in
      for index in rows {
        let row = self.rows[index]
        arguments.append(UnsafeRawBufferPointer(rebasing: bytes[row.user..<row.record]))
        arguments.append(UnsafeRawBufferPointer(rebasing: bytes[row.record..<row.attributes]))
        arguments.append(UnsafeRawBufferPointer(rebasing: bytes[row.attributes..<row.end]))
      }
    }
  }

  /// A part as a note has it, see ``RegistrationNote``.
  func note(of part: Part) -> [UInt8] {
    var note: [UInt8] = []
    let size = part.rows.reduce(0) { $0 + rows[$1].end - rows[$1].start + 6 }
    note.reserveCapacity(size)
    for index in part.rows {
      let row = rows[index]
      note.append(length: row.record - row.user)
      note.append(contentsOf: bytes[row.user..<row.attributes])
      note.append(length: (row.end - row.attributes) >> 16)
      note.append(length: (row.end - row.attributes) & 0xffff)
      note.append(contentsOf: bytes[row.attributes..<row.end])
    }
    return note
  }
}

extension [UInt8] {
  /// Appends a number as decimal digits.
  fileprivate mutating func append(decimal number: UInt64) {
    var divisor: UInt64 = 1
    while number / divisor >= 10 { divisor *= 10 }
    var rest = number
    while divisor > 0 {
      append(UInt8(ascii: "0") + UInt8(rest / divisor))
      rest %= divisor
      divisor /= 10
    }
  }
}
