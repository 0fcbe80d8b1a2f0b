import CommandSupport

/// Reads a simulator's log (`simulate --log`): when pushes arrived.
struct ArrivalLog {
  /// When pushes to tokens with the prefix arrived, in seconds since 1970. The log has whole milliseconds; told is the end
  /// of each, so that no latency is told too small.
  private(set) var arrivals: [Double] = []
  /// Pushes to all other tokens.
  private(set) var others = 0

  private let prefix: [UInt8]
  /// What of the line under way has been seen: blanks, its first number, and how much of the prefix the token has.
  private var blanks = 0
  private var milliseconds = 0
  private var matched = 0

  /// - Parameter prefix: of device tokens in hex; empty for all.
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

  /// Reads on. A line is `ms connection stream token apnsId status`.
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

  /// For each beginning the milliseconds to the first arrival after it and before the next.
  ///
  /// - Parameter beginnings: in seconds since 1970, ascending.
  /// - Returns: `nil` for those with no arrival.
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
