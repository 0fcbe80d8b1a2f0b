public import PushCore

/// One entry of the list of a slice's targets: a page of ``size`` consecutive targets, fewer in the last page.
///
/// The page has for each target: u16 token length, u16 user length (big-endian), token, user in UTF-8 (empty for a raw
/// token of a job). If the highest bit of the token's length is set, u16 length and `PushCore/TargetValues` follow. An
/// erased target (`blank.lua`) has neither token nor user. Only the first two bytes of its values stay, because they
/// contain its variant.
///
/// If each target had an entry of its own, Redis would need twice the time to append the targets, and many times the
/// time to read them.
enum TargetPage {
  /// Version of these pages and of the records in the slice's ledger. A slice stores its version when its targets are
  /// sealed.
  static let formatVersion = 6
  /// The first version whose pages an erasure can read. Pages of version 5 differ only in that they have no erased
  /// targets.
  static let oldestErasableVersion = 5
  /// Number of targets in a page, about 6 kB. Redis copies the whole entry to read one of its targets.
  static let size = 128
  /// Number of bytes in front of each token.
  static let header = 4
  /// Flag in the length of a token: the values of the target follow its user.
  static let hasValues = 0x8000
  /// Size of the largest possible page in bytes.
  static let maximumBytes = size * (header + DeviceToken.maximumLength + 2 * Int(UInt16.max))

  static func write(token: UnsafeRawBufferPointer, user: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
    bytes.append(length: token.count)
    bytes.append(length: user.count)
    bytes.append(contentsOf: token)
    bytes.append(contentsOf: user)
  }

  /// Appends a target with values.
  ///
  /// - Parameter values: appends the values.
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
      // If the values exceed the length field, the target gets no values.
      bytes.removeLast(length)
      return
    }
    bytes[place] = UInt8(length >> 8)
    bytes[place + 1] = UInt8(length & 0xff)
  }

  /// Returns the numbers of the pages that contain these targets.
  static func pages(of targets: Range<Int>) -> ClosedRange<Int> {
    targets.lowerBound / size...max(targets.lowerBound, targets.upperBound - 1) / size
  }
}

/// Consecutive targets of a slice as read from its list, in contiguous memory.
public struct TargetChunk: Sendable {
  /// The index in the slice of the first target.
  public let first: Int
  /// For each target the start of its token, the start of its user, and the end of its user.
  public private(set) var places: [(token: Int32, user: Int32, end: Int32)] = []
  /// The bytes of the pages that contain the targets.
  public private(set) var bytes: [UInt8] = []

  private let capacity: Int
  /// Number of targets to skip at the start of the next page, because they come before ``first``.
  private var skipped: Int

  /// Creates an empty chunk.
  ///
  /// - Parameters:
  ///   - first: the index of the first target.
  ///   - capacity: the maximum number of targets.
  init(first: Int, capacity: Int) {
    self.first = first
    self.capacity = capacity
    skipped = first % TargetPage.size
    places.reserveCapacity(capacity)
  }

  /// Appends the targets of the next page, up to the first byte that is not valid. The page of the first call must
  /// contain the target ``first``.
  mutating func append(page: UnsafeRawBufferPointer) {
    guard page.count <= TargetPage.maximumBytes else { return }
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

  /// Returns whether the user of the target at a position was erased. Such a target has no token.
  public func isErased(_ position: Int) -> Bool { places[position].token == places[position].user }

  /// Returns the bytes of the token of the target at a position, counted from ``first``; empty for an erased target.
  public func token(_ position: Int) -> ArraySlice<UInt8> {
    bytes[Int(places[position].token)..<Int(places[position].user)]
  }

  /// Returns the values with which the push of the target at a position is rendered.
  public func values(_ position: Int) -> TargetValues {
    let (token, _, end) = places[position]
    guard bytes[Int(token) - TargetPage.header] & UInt8(TargetPage.hasValues >> 8) != 0 else { return .none }
    let start = Int(end) + 2
    let length = Int(bytes[start - 2]) << 8 | Int(bytes[start - 1])
    return TargetValues(bytes[start..<(start + length)])
  }

  /// Returns the user of the target at a position, in UTF-8; empty for a raw token of a job.
  public func user(_ position: Int) -> ArraySlice<UInt8> {
    bytes[Int(places[position].user)..<Int(places[position].end)]
  }
}
