/// A hash table from raw token bytes to a device's state. It needs 12 bytes and the token for each device, plus 8 bytes
/// for each slot.
///
/// The entries are in one consecutive array of bytes. A slot contains the upper half of the hash and the entry's
/// offset, so the search for an unknown token reads only slots. Entries are changed in place and never removed
/// individually.
struct TokenTable {
  /// The mutable part of an entry.
  struct Record: Equatable {
    var state: SimulatedDevice.State
    var topic: UInt16
    var timestamp: Int64
    /// Environment in which the token is valid; `nil` for both.
    var environment: SimulatorEnvironment?
    /// Whether the device is currently offline.
    var isAway = false
  }

  // Size in bytes of an entry without its token. An entry has: timestamp (8 bytes), topic (2 bytes), one byte with
  // state (4 bits), environment (3 bits) and absence (1 bit), length of the token (1 byte), and the token. It is padded
  // to a multiple of 4 bytes.
  private static let headerSize = 12
  private static let states = SimulatedDevice.State.allCases
  private static let environments: [SimulatorEnvironment?] = [nil] + SimulatorEnvironment.allCases

  private var slots = [UInt64](repeating: 0, count: 64)
  private var entries: [UInt8] = []
  private(set) var count = 0

  /// Returns the record of `token`. The caller supplies the hash.
  func find(_ token: UnsafeRawBufferPointer, hash: UInt64) -> Record? {
    guard count > 0, let offset = locate(token, hash: hash).offset else { return nil }
    return entries.withUnsafeBytes { bytes in
      Record(
        state: Self.states[Int(bytes[offset + 10] & 0x0F)],
        topic: bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt16.self),
        timestamp: bytes.loadUnaligned(fromByteOffset: offset, as: Int64.self),
        environment: Self.environments[Int(bytes[offset + 10] >> 4 & 0x07)], isAway: bytes[offset + 10] >= 0x80)
    }
  }

  /// Adds `token`, of 1 to 255 bytes, or changes its record.
  mutating func set(_ token: UnsafeRawBufferPointer, hash: UInt64, _ record: Record) {
    let place = locate(token, hash: hash)
    guard let offset = place.offset else {
      append(token, hash: hash, record, slot: place.slot)
      return
    }
    write(record, at: offset)
  }

  private func locate(_ token: UnsafeRawBufferPointer, hash: UInt64) -> (slot: Int, offset: Int?) {
    let mask = slots.count - 1
    let tag = hash >> 32
    var slot = Int(truncatingIfNeeded: hash) & mask
    return slots.withUnsafeBufferPointer { slots in
      entries.withUnsafeBytes { entries in
        while slots[slot] != 0 {
          if slots[slot] >> 32 == tag {
            let offset = Self.offset(slots[slot])
            let length = Int(entries[offset + 11])
            let start = offset + Self.headerSize
            let known = UnsafeRawBufferPointer(rebasing: entries[start..<start + length])
            if known.matches(token) { return (slot, offset) }
          }
          slot = (slot + 1) & mask
        }
        return (slot, nil)
      }
    }
  }

  private mutating func append(_ token: UnsafeRawBufferPointer, hash: UInt64, _ record: Record, slot: Int) {
    let offset = entries.count
    let size = (Self.headerSize + token.count + 3) & ~3
    if entries.capacity < offset + size {
      // Grows the array by a quarter. Arrays usually double their size, which would leave up to half of the memory
      // unused.
      entries.reserveCapacity(entries.capacity + max(entries.capacity / 4, 4096))
    }
    entries.append(contentsOf: repeatElement(0, count: Self.headerSize - 1))
    entries.append(UInt8(token.count))
    entries.append(contentsOf: token)
    entries.append(contentsOf: repeatElement(0, count: size - Self.headerSize - token.count))
    write(record, at: offset)
    slots[slot] = Self.slot(tag: hash >> 32, offset: offset)
    count += 1
    if count * 3 > slots.count * 2 { grow() }
  }

  private mutating func write(_ record: Record, at offset: Int) {
    entries.withUnsafeMutableBytes { bytes in
      bytes.storeBytes(of: record.timestamp, toByteOffset: offset, as: Int64.self)
      bytes.storeBytes(of: record.topic, toByteOffset: offset + 8, as: UInt16.self)
      let state = Self.states.firstIndex(of: record.state) ?? 0
      let environment = Self.environments.firstIndex(of: record.environment) ?? 0
      bytes[offset + 10] = UInt8((record.isAway ? 0x80 : 0) | environment << 4 | state)
    }
  }

  private mutating func grow() {
    let old = slots
    slots = [UInt64](repeating: 0, count: old.count * 2)
    let mask = slots.count - 1
    for value in old where value != 0 {
      let offset = Self.offset(value)
      let hash = entries.withUnsafeBytes { bytes in
        let start = offset + Self.headerSize
        return ByteHash.hash(UnsafeRawBufferPointer(rebasing: bytes[start..<start + Int(bytes[offset + 11])]))
      }
      var slot = Int(truncatingIfNeeded: hash) & mask
      while slots[slot] != 0 { slot = (slot + 1) & mask }
      slots[slot] = value
    }
  }

  // The lower half of a slot contains the position of the entry, in words of four bytes and counted from one. A slot
  // with the value zero is empty.

  private static func slot(tag: UInt64, offset: Int) -> UInt64 { tag << 32 | UInt64(offset / 4 + 1) }

  private static func offset(_ slot: UInt64) -> Int { (Int(slot & 0xFFFF_FFFF) - 1) * 4 }
}
