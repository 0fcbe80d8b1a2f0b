/// Reader for the system's files of the time zone database: TZif, RFC 8536.
extension ZoneRules {
  /// Maximum size of a file in bytes. Files of the database have at most 4 kB.
  public static let largestFile = 1 << 20

  /// Reads a TZif file of any version. Leap seconds are ignored; the standard files of the database contain none.
  ///
  /// - Returns: `nil` for bytes that are not a TZif file.
  public init?(tzif bytes: [UInt8]) {
    guard bytes.count <= Self.largestFile, var header = Header(bytes, at: 0) else { return nil }
    var (start, isWide) = (Header.size, false)
    if header.version >= 2 {
      // The first block is skipped: it is for programs that can read only 32-bit times (RFC 8536, 3.2).
      let second = Header.size + header.length(timeSize: 4)
      guard let next = Header(bytes, at: second), next.version >= 2 else { return nil }
      (header, start, isWide) = (next, second + Header.size, true)
    }
    let timeSize = isWide ? 8 : 4
    guard start + header.length(timeSize: timeSize) <= bytes.count, header.types > 0, header.characters > 0 else {
      return nil
    }
    let indexes = start + header.times * timeSize
    let types = indexes + header.times
    var offsets: [Int] = []
    for type in 0..<header.types {
      let offset = Self.number(bytes, at: types + type * 6, size: 4)
      guard abs(offset) < 26 * 3600, bytes[types + type * 6 + 4] <= 1 else { return nil }
      offsets.append(offset)
    }
    var changes: [Change] = []
    var (previous, last) = (offsets[0], Int.min)
    for number in 0..<header.times {
      let at = Self.number(bytes, at: start + number * timeSize, size: timeSize)
      let type = Int(bytes[indexes + number])
      guard at > last, type < offsets.count else { return nil }
      last = at
      // An entry may keep the offset, and change only the name of the time or the flag for summer time.
      if offsets[type] != previous { changes.append(Change(at: at, offset: offsets[type])) }
      previous = offsets[type]
    }
    var future: YearlyRules?
    if isWide {
      let footer = bytes[(start + header.length(timeSize: timeSize))...]
      guard footer.first == UInt8(ascii: "\n"), let end = footer.dropFirst().firstIndex(of: UInt8(ascii: "\n")) else {
        return nil
      }
      let text = footer[footer.startIndex + 1..<end]
      if !text.isEmpty {
        guard let rules = YearlyRules(posix: text) else { return nil }
        future = rules
        // The last entry of the file and the yearly rules must have the same offset at the last instant of the file.
        if header.times > 0, rules.offset(at: last) != previous { return nil }
        // The yearly rules apply from the last instant on, even if the last entry did not change the offset.
        if header.times > 0, changes.last?.at != last { changes.append(Change(at: last, offset: previous)) }
      }
    }
    self.init(first: offsets[0], changes: changes, future: future)
  }

  /// Header of a block: its six counts and its version.
  private struct Header {
    static let size = 44

    var version: Int
    var marks: (universal: Int, standard: Int)
    var leaps: Int
    var times: Int
    var types: Int
    var characters: Int

    init?(_ bytes: [UInt8], at start: Int) {
      guard start + Self.size <= bytes.count, bytes[start..<start + 4].elementsEqual("TZif".utf8) else { return nil }
      version = bytes[start + 4] == 0 ? 1 : Int(bytes[start + 4]) - Int(UInt8(ascii: "0"))
      guard 1...9 ~= version else { return nil }
      let counts = (0..<6).map { ZoneRules.number(bytes, at: start + 20 + $0 * 4, size: 4) }
      guard counts.allSatisfy({ 0...ZoneRules.largestFile ~= $0 }) else { return nil }
      marks = (counts[0], counts[1])
      (leaps, times, types, characters) = (counts[2], counts[3], counts[4], counts[5])
    }

    func length(timeSize: Int) -> Int {
      times * (timeSize + 1) + types * 6 + characters + leaps * (timeSize + 4) + marks.standard + marks.universal
    }
  }

  /// Reads a signed big-endian number.
  private static func number(_ bytes: [UInt8], at start: Int, size: Int) -> Int {
    var value = Int(Int8(bitPattern: bytes[start]))
    for byte in bytes[start + 1..<start + size] { value = value << 8 | Int(byte) }
    return value
  }
}
