import PushCore

/// One entry of a slice's target list: ``size`` targets one behind the other, fewer in the last. For each u16 token
/// length, u16 user length (big-endian), token, user in UTF-8 (nothing for a raw token of a job).
///
/// An entry for each target would cost Redis twice as much to append, and many times as much to read.
enum TargetPage {
  /// The version of these pages and of the records in the ledger beside them; a slice says at its seal which it has.
  static let formatVersion = 2
  /// Some 6 kB: an entry is copied whole when one of its targets is looked up.
  static let size = 128
  /// Bytes in front of each token.
  static let header = 4
  /// Bytes of the largest page that can be.
  static let mostBytes = size * (header + DeviceToken.maximumLength + Int(UInt16.max))

  static func write(token: UnsafeRawBufferPointer, user: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
    bytes.append(length: token.count)
    bytes.append(length: user.count)
    bytes.append(contentsOf: token)
    bytes.append(contentsOf: user)
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
      let user = token + page.length(at: at)
      let end = user + page.length(at: at + 2)
      guard end <= page.count, 1...DeviceToken.maximumLength ~= user - token else { return }
      if skipped > 0 {
        skipped -= 1
      } else {
        places.append((Int32(start + token), Int32(start + user), Int32(start + end)))
      }
      at = end
    }
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
