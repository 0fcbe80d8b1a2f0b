public import PushCore

/// One entry of a slice's target list: ``size`` targets one behind the other, fewer in the last. For each u16 token
/// length, u16 user length (big-endian), token, user in UTF-8 (nothing for a raw token of a job). Where the highest bit of
/// the token's length is set, u16 length and `PushCore/TargetValues` follow. An erased target (`blank.lua`) has neither
/// token nor user; of its values the first two bytes stay, which say its variant.
///
/// An entry for each target would cost Redis twice as much to append, and many times as much to read.
enum TargetPage {
  /// The version of these pages and of the records in the ledger beside them; a slice says at its seal which it has.
  static let formatVersion = 6
  /// The first version whose pages an erasure reads: pages of version 5 only lack erased targets.
  static let oldestErasable = 5
  /// Some 6 kB: an entry is copied whole when one of its targets is looked up.
  static let size = 128
  /// Bytes in front of each token.
  static let header = 4
  /// In the length of a token: values stand behind the user.
  static let hasValues = 0x8000
  /// Bytes of the largest page that can be.
  static let mostBytes = size * (header + DeviceToken.maximumLength + 2 * Int(UInt16.max))

  static func write(token: UnsafeRawBufferPointer, user: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
    bytes.append(length: token.count)
    bytes.append(length: user.count)
    bytes.append(contentsOf: token)
    bytes.append(contentsOf: user)
  }

  /// - Parameter values: writes them.
  static func write(
    token: UnsafeRawBufferPointer, user: UnsafeRawBufferPointer, to bytes: inout [UInt8],
    values: (inout [UInt8]) -> Void
  ) {
    let start = bytes.count
    write(token: token, user: user, to: &bytes)
    bytes[start] |= UInt8(hasValues >> 8)
    let place = bytes.count
    bytes.append(length: 0)
    values(&bytes)
    let length = bytes.count - place - 2
    guard length <= Int(UInt16.max) else {
      // What can't be noted is missing.
      bytes.removeLast(length)
      return
    }
    bytes[place] = UInt8(length >> 8)
    bytes[place + 1] = UInt8(length & 0xff)
  }

  /// The pages that have some of these targets.
  static func pages(of targets: Range<Int>) -> ClosedRange<Int> {
    targets.lowerBound / size...max(targets.lowerBound, targets.upperBound - 1) / size
  }
}

/// Targets of a slice, read from the ledger, in contiguous storage.
public struct TargetChunk: Sendable {
  /// The index of the first target in its slice.
  public let first: Int
  /// Where each target's token begins and ends, and where its user ends.
  public private(set) var places: [(token: Int32, user: Int32, end: Int32)] = []
  /// The pages that the targets stand in.
  public private(set) var bytes: [UInt8] = []

  private let capacity: Int
  /// Targets of the next page that come before the first.
  private var skipped: Int

  /// - Parameters:
  ///   - first: the index of the first target.
  ///   - capacity: how many there are at most.
  init(first: Int, capacity: Int) {
    self.first = first
    self.capacity = capacity
    skipped = first % TargetPage.size
    places.reserveCapacity(capacity)
  }

  /// Takes in the next page, as far as it is one; the first is the one that has the first target.
  mutating func append(page: UnsafeRawBufferPointer) {
    guard page.count <= TargetPage.mostBytes else { return }
    let start = bytes.count
    bytes.append(contentsOf: page)
    var at = 0
    while at + TargetPage.header <= page.count, places.count < capacity {
      let token = at + TargetPage.header
      let tokenLength = page.length(at: at)
      let user = token + tokenLength & ~TargetPage.hasValues
      let end = user + page.length(at: at + 2)
      guard end <= page.count, 0...DeviceToken.maximumLength ~= user - token else { return }
      var next = end
      if tokenLength & TargetPage.hasValues != 0 {
        guard end + 2 <= page.count else { return }
        next = end + 2 + page.length(at: end)
        guard next <= page.count else { return }
      }
      if skipped > 0 {
        skipped -= 1
      } else {
        places.append((Int32(start + token), Int32(start + user), Int32(start + end)))
      }
      at = next
    }
  }

  /// The number of targets.
  public var count: Int { places.count }

  /// Whether the user of the target at a position was erased: the target has no token any more.
  public func isErased(_ position: Int) -> Bool { places[position].token == places[position].user }

  /// The raw token of the target at a position, counted from ``first``; empty for an erased target.
  public func token(_ position: Int) -> ArraySlice<UInt8> {
    bytes[Int(places[position].token)..<Int(places[position].user)]
  }

  /// What the campaign's content knows of the target at a position.
  public func values(_ position: Int) -> TargetValues {
    let (token, _, end) = places[position]
    guard bytes[Int(token) - TargetPage.header] & UInt8(TargetPage.hasValues >> 8) != 0 else { return .none }
    let start = Int(end) + 2
    let length = Int(bytes[start - 2]) << 8 | Int(bytes[start - 1])
    return TargetValues(bytes[start..<(start + length)])
  }

  /// The user of the target at a position, in UTF-8; nothing for a raw token of a job.
  public func user(_ position: Int) -> ArraySlice<UInt8> {
    bytes[Int(places[position].user)..<Int(places[position].end)]
  }
}
