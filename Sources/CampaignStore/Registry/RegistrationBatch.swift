import PushCore
import Redis

/// Registrations of devices that go to Redis together. They are encoded once, in the form that the scripts read.
///
/// Each registration is a *row*, and the devices register in the order of the rows. If a batch has one token for two
/// users, all rows in the script call with this token must be checked again, to find the final owner.
public struct RegistrationBatch: Sendable {
  /// One registration. `start`, `user`, `record` and `attributes` are offsets into ``bytes``.
  struct Row {
    /// Start of the text `at:user`, the value in the owner index.
    var start: Int
    /// Start of the user's id.
    var user: Int
    /// Start of the device record, and end of the user's id.
    var record: Int
    /// Start of the attributes, and end of the record.
    var attributes: Int
    var end: Int
    /// Time of the registration, in ms since the epoch.
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

  /// Largest number of rows in a call. Redis needs 0.25 ms for a call of this size.
  private static let partRows = 96
  /// Number of bytes in a call from which no further row is added. A row usually has a few hundred bytes, but a record
  /// may have 64 KiB.
  private static let partBytes = 128 << 10

  private(set) var bytes: [UInt8] = []
  private(set) var rows: [Row] = []
  /// The rows with tokens of a Live Activity, by the name of the activity.
  private(set) var activities: [String: [Int]] = [:]
  private let partitions: Int
  private let services: PushServices

  /// The number of registrations.
  public var count: Int { rows.count }
  /// Whether the batch has no registration.
  public var isEmpty: Bool { rows.isEmpty }

  init(partitions: Int, services: PushServices) {
    self.partitions = partitions
    self.services = services
  }

  /// Reserves space for this many more registrations of usual size.
  public mutating func reserve(_ count: Int) {
    rows.reserveCapacity(rows.count + count)
    bytes.reserveCapacity(bytes.count + count * 192)
  }

  /// Replaces registration times that are later than `now` by `now`.
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
  /// - Throws: ``StoreError`` `invalid` if the device is too long to be stored, `mismatch` if the program does not know
  ///   its service. Then nothing is added.
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

  /// Returns the rows of each partition in parts, in the order of the rows.
  ///
  /// - Parameters:
  ///   - chosen: indexes of rows, ascending.
  ///   - partition: which partition of a row to use: that of its user or that of its token.
  func parts(of chosen: some Collection<Int>, by partition: KeyPath<Row, Int>) -> [Part] {
    // A counting sort places the rows in one pass, for any number of partitions.
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

  /// Returns the registration of a row.
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

  /// Appends the arguments of `bind.lua` for a part.
  func appendOwners(of part: Part, to arguments: inout RedisArguments) {
    // The closure does not keep the buffer after this call. The same applies to the calls below.
    bytes.withUnsafeBytes { bytes in
      for index in part.rows {
        let row = rows[index]
        let token = row.record + DeviceView.tokenStart
        arguments.append(UnsafeRawBufferPointer(rebasing: bytes[token..<(token + bytes.length(at: token - 2))]))
        arguments.append(UnsafeRawBufferPointer(rebasing: bytes[row.start..<row.record]))
      }
    }
  }

  /// Appends the arguments of `upsert.lua` for a part.
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

  /// Returns a part in the format of a note, see ``RegistrationNote``.
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
