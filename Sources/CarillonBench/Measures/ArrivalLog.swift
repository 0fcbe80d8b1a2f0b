import CommandSupport

/// Reads the arrival times of pushes from a simulator's log (`simulate --log`).
struct ArrivalLog {
  /// Arrival times of pushes to tokens with the prefix, in seconds since 1970. The log has whole milliseconds. The end
  /// of the millisecond counts as the arrival time, so that no latency is too small.
  private(set) var arrivals: [Double] = []
  /// Number of pushes to all other tokens.
  private(set) var others = 0

  private let prefix: [UInt8]
  /// State of the current line: number of blanks so far, value of the first field, and number of prefix bytes that the
  /// token matches.
  private var blanks = 0
  private var milliseconds = 0
  private var matched = 0

  /// - Parameter prefix: prefix of device tokens in hex; empty for all.
  init(prefix: String) {
    self.prefix = Array(prefix.utf8)
  }

  /// Reads a whole file.
  init(file: String, prefix: String) throws(FileError) {
    self.init(prefix: prefix)
    let file = try InputFile(file)
    while true {
      let bytes = try file.read()
      guard !bytes.isEmpty else { return }
      read(bytes)
    }
  }

  /// Reads the next bytes. A line is `ms connection stream token apnsId status`.
  mutating func read(_ bytes: [UInt8]) {
    for byte in bytes {
      switch byte {
      case 0x0A: endLine()
      case 0x20: blanks += 1
      case _ where blanks == 0: milliseconds = milliseconds * 10 + Int(byte) - 0x30
      case _ where blanks == 3 && matched >= 0 && matched < prefix.count:
        matched = byte == prefix[matched] ? matched + 1 : -1
      default: break
      }
    }
  }

  private mutating func endLine() {
    if matched == prefix.count { arrivals.append(Double(milliseconds + 1) / 1000) } else { others += 1 }
    (blanks, milliseconds, matched) = (0, 0, 0)
  }

  /// Returns for each beginning the milliseconds to the first arrival after it and before the next beginning.
  ///
  /// - Parameter beginnings: in seconds since 1970, ascending.
  /// - Returns: `nil` for a beginning without an arrival.
  func firstAfter(_ beginnings: [Double]) -> [Double?] {
    let sorted = arrivals.sorted()
    var index = 0
    return beginnings.enumerated().map { number, begin in
      while index < sorted.count, sorted[index] < begin { index += 1 }
      let end = number + 1 < beginnings.count ? beginnings[number + 1] : .infinity
      guard index < sorted.count, sorted[index] < end else { return nil }
      return (sorted[index] - begin) * 1000
    }
  }
}
