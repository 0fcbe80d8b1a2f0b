/// How many users of a partition were seen how long ago: what it takes to find those of the whole fleet who were seen last,
/// without anybody having all of them.
///
/// Ages are counted in bins: to the millisecond below a quarter of a second, above that bins are 1/128 of an age wide.
/// A partition's counts take some kilobytes at most, however many users it has.
public struct RecencyHistogram: Sendable, Equatable {
  /// Users by bin.
  public private(set) var counts: [Int: Int] = [:]

  /// The bin of those whom nobody has ever seen, behind all others.
  public static let never = bin(ofAge: (1 << 48) - 1) + 1
  /// A power of two: bins from one power of two of an age to the next.
  private static let steps = 128

  /// Nobody.
  public init() {}

  /// - Parameters:
  ///   - seenAt: ms since the epoch; 0 for never.
  ///   - start: from when ages are counted, in ms since the epoch. Who was seen later has the age 0.
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

  /// As it is stored: for each bin in its order how far it is behind the last one, and its count, in LEB128.
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

  /// - Returns: `nil` for what is none.
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

/// How many users each partition sends to, so that all together are as many as a limit says, and those seen last.
///
/// What is of one bin is shared out by how much of it each partition has. So nobody is left out who was seen later than
/// somebody taken by more than the width of a bin. Pure; in two rounds over the partitions, so that nobody needs the
/// histograms of all at once: first ``count(_:)`` each, then ``quota(of:)`` each, in the same order.
public struct RecencyQuotas: Sendable {
  private let limit: Int
  private var totals: [Int: Int] = [:]
  /// The first bin that is not taken whole.
  private var boundary = Int.max
  /// Users of it who are taken, and all.
  private var part = (taken: 0, all: 0)
  /// Those of whom it has been said which partition takes them, and all who have been looked at.
  private var shared = (taken: 0, all: 0)

  /// - Parameter limit: users, 1 or more.
  public init(limit: Int) {
    self.limit = limit
  }

  /// Counts a partition.
  public mutating func count(_ histogram: RecencyHistogram) {
    totals.merge(histogram.counts, uniquingKeysWith: +)
  }

  /// Every partition was counted.
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

  /// How many users a partition sends to.
  public mutating func quota(of histogram: RecencyHistogram) -> Int {
    var quota = histogram.counts.reduce(0) { $1.key < boundary ? $0 + $1.value : $0 }
    if let count = histogram.counts[boundary], part.all > 0 {
      // Each takes so many that all so far have their part, rounded down: in the end that is the part, to a man.
      shared.all += count
      let due = shared.all.multipliedFullWidth(by: part.taken)
      let taken = part.all.dividingFullWidth(due).quotient
      quota += taken - shared.taken
      shared.taken = taken
    }
    return quota
  }
}
