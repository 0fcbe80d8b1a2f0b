/// Histogram of the times at which the users of a partition were last seen. The histograms of all partitions are
/// sufficient to find the most recently seen users of all partitions, without one list of all users.
///
/// The histogram counts ages in bins. A bin is 1 ms wide for ages below 256 ms. For larger ages, its width is at most
/// 1/128 of the age. The counts of a partition take at most some kilobytes, regardless of the number of users.
public struct RecencyHistogram: Sendable, Equatable {
  /// Number of users by bin.
  public private(set) var counts: [Int: Int] = [:]

  /// Bin of users who were never seen; it is after all other bins.
  public static let never = bin(ofAge: (1 << 48) - 1) + 1
  /// Number of bins between an age of a power of two and twice that age. This number is a power of two too.
  private static let steps = 128

  /// Creates an empty histogram.
  public init() {}

  /// Returns the bin of a user.
  ///
  /// - Parameters:
  ///   - seenAt: ms since the epoch; 0 for never.
  ///   - start: reference time for ages, in ms since the epoch. A user who was seen later has the age 0.
  public static func bin(seenAt: UInt64, start: Int) -> Int {
    guard seenAt > 0 else { return never }
    return bin(ofAge: min((1 << 48) - 1, max(0, start - Int(min(seenAt, 1 << 62)))))
  }

  private static func bin(ofAge age: Int) -> Int {
    guard age >= 2 * steps else { return age }
    let power = Int.bitWidth - 1 - age.leadingZeroBitCount - steps.trailingZeroBitCount
    return power * steps + age >> power
  }

  /// Counts a user.
  public mutating func add(bin: Int) { counts[bin, default: 0] += 1 }

  /// Stored form: for each bin in ascending order the distance from the previous bin and the count, in LEB128.
  public var bytes: [UInt8] {
    var bytes: [UInt8] = []
    var last = 0
    for (bin, count) in counts.sorted(by: { $0.key < $1.key }) {
      Self.write(bin - last, to: &bytes)
      Self.write(count, to: &bytes)
      last = bin
    }
    return bytes
  }

  /// - Returns: `nil` for bytes that are not a histogram.
  public init?(_ bytes: some Sequence<UInt8>) {
    var numbers: [Int] = []
    var (number, shift) = (0, 0)
    for byte in bytes {
      guard shift < 35 else { return nil }
      number |= Int(byte & 0x7F) << shift
      shift += 7
      guard byte < 0x80 else { continue }
      numbers.append(number)
      (number, shift) = (0, 0)
    }
    guard shift == 0, numbers.count % 2 == 0 else { return nil }
    var bin = 0
    for index in stride(from: 0, to: numbers.count, by: 2) {
      bin += numbers[index]
      guard bin <= Self.never, numbers[index + 1] > 0, counts[bin] == nil else { return nil }
      counts[bin] = numbers[index + 1]
    }
  }

  private static func write(_ number: Int, to bytes: inout [UInt8]) {
    var number = number
    while number >= 0x80 {
      bytes.append(UInt8(number & 0x7F) | 0x80)
      number >>= 7
    }
    bytes.append(UInt8(number))
  }
}

/// Calculation of the number of users that each partition selects, so that all partitions together select the most
/// recently seen users up to a limit.
///
/// Beginning with the most recent bin, all users of a bin are selected as long as they fit in the limit. The next bin
/// is the *boundary bin*: each partition selects a share of the bin's users in proportion to its count. So an omitted
/// user may have been seen later than a selected user, but at most by the width of a bin.
///
/// The caller makes two passes over the partitions and never needs all histograms at the same time: first ``count(_:)``
/// for each, then ``quota(of:)`` for each in the same order.
public struct RecencyQuotas: Sendable {
  private let limit: Int
  private var totals: [Int: Int] = [:]
  /// Boundary bin: the first bin whose users are not all selected.
  private var boundary = Int.max
  /// Number of selected users of the boundary bin, and number of all its users.
  private var part = (taken: 0, all: 0)
  /// Running totals of the boundary bin over the partitions processed so far: the selected users, and all users.
  private var shared = (taken: 0, all: 0)

  /// - Parameter limit: number of users, at least 1.
  public init(limit: Int) {
    self.limit = limit
  }

  /// Adds the counts of a partition, in the first pass.
  public mutating func count(_ histogram: RecencyHistogram) {
    totals.merge(histogram.counts, uniquingKeysWith: +)
  }

  /// Determines the boundary bin. The caller calls this function after the first pass.
  public mutating func settle() {
    var room = limit
    for (bin, count) in totals.sorted(by: { $0.key < $1.key }) {
      guard count <= room else {
        (boundary, part) = (bin, (room, count))
        return
      }
      room -= count
    }
  }

  /// Returns the number of users that a partition selects, in the second pass.
  public mutating func quota(of histogram: RecencyHistogram) -> Int {
    var quota = histogram.counts.reduce(0) { $1.key < boundary ? $0 + $1.value : $0 }
    if let count = histogram.counts[boundary], part.all > 0 {
      // After each partition, the total of selected users is the share `part.taken / part.all` of the bin's users in
      // the partitions so far, rounded down. After the last partition, the total is `part.taken`.
      shared.all += count
      let due = shared.all.multipliedFullWidth(by: part.taken)
      let taken = part.all.dividingFullWidth(due).quotient
      quota += taken - shared.taken
      shared.taken = taken
    }
    return quota
  }
}
