/// One entry of a slice's target list: u8 token length, raw token, user in UTF-8 (nothing for a raw token of a job).
///
/// Token lengths end at 200, so the first byte leaves room for other kinds of entry.
enum TargetEntry {
  static func write(token: UnsafeRawBufferPointer, user: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
    bytes.append(UInt8(token.count))
    bytes.append(contentsOf: token)
    bytes.append(contentsOf: user)
  }
}

/// Targets of a slice, read from the ledger, in contiguous storage.
public struct TargetChunk: Sendable {
  /// The index of the first target in its slice.
  public let first: Int
  /// Where each target's token begins and ends, and where its user ends.
  public private(set) var places: [(token: Int32, user: Int32, end: Int32)] = []
  /// Tokens and users, each target's token followed by its user.
  public private(set) var bytes: [UInt8] = []

  init(first: Int, capacity: Int) {
    self.first = first
    places.reserveCapacity(capacity)
    bytes.reserveCapacity(capacity * 48)
  }

  mutating func append(entry: UnsafeRawBufferPointer) {
    let tokenLength = Int(entry.first ?? 0)
    let start = bytes.count
    bytes.append(contentsOf: entry.dropFirst())
    places.append((Int32(start), Int32(start + min(tokenLength, entry.count - 1)), Int32(bytes.count)))
  }

  /// The number of targets.
  public var count: Int { places.count }

  /// The raw token of the target at a position, counted from ``first``.
  public func token(_ position: Int) -> ArraySlice<UInt8> {
    bytes[Int(places[position].token)..<Int(places[position].user)]
  }

  /// The user of the target at a position, in UTF-8; nothing for a raw token of a job.
  public func user(_ position: Int) -> ArraySlice<UInt8> {
    bytes[Int(places[position].user)..<Int(places[position].end)]
  }
}
