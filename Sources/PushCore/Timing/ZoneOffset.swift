/// Time zones with a fixed offset from UTC, in the notations of phones: `GMT+0530`, `UTC-3`, `+02:00`.
public enum ZoneOffset {
  /// Range of all offsets in use on Earth, in seconds: from Baker Island to Kiritimati.
  private static let range = -12 * 3600...14 * 3600
  private static let minus: [UInt8] = Array("\u{2212}".utf8)

  /// Reads an offset without allocating memory.
  ///
  /// - Parameter text: `UTC`, `GMT` or `Z` in any case; a sign with hours, `hh:mm` or `hhmm`; or a name followed by
  ///   such an offset.
  /// - Returns: seconds ahead of UTC; `nil` for any other text.
  public static func seconds(_ text: some Collection<UInt8>) -> Int? {
    // The longest form is `UTC+05:30` with a minus sign of three bytes.
    guard 1...11 ~= text.count else { return nil }
    var rest = text[...]
    let isNamed = takeName(&rest)
    guard let sign = rest.first else { return isNamed ? 0 : nil }
    var isWest = false
    if rest.starts(with: minus) {
      isWest = true
      rest = rest.dropFirst(minus.count)
    } else {
      guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
      isWest = sign == UInt8(ascii: "-")
      rest = rest.dropFirst()
    }
    guard let seconds = clock(rest) else { return nil }
    let offset = isWest ? -seconds : seconds
    return range ~= offset ? offset : nil
  }

  /// Returns the canonical text of an offset: `UTC` or `+05:30`.
  ///
  /// - Parameter seconds: seconds ahead of UTC, in whole minutes.
  public static func text(_ seconds: Int) -> String {
    guard seconds != 0 else { return CampaignTiming.utc }
    let minutes = abs(seconds) / 60
    func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return (seconds < 0 ? "-" : "+") + twoDigits(minutes / 60) + ":" + twoDigits(minutes % 60)
  }

  /// Removes `UTC`, `GMT` or `Z` from the beginning. Returns whether one of them was there.
  private static func takeName<Rest: Collection<UInt8>>(_ rest: inout Rest) -> Bool where Rest.SubSequence == Rest {
    if rest.count == 1, rest.first.map({ $0 | 0x20 }) == UInt8(ascii: "z") {
      rest = rest.dropFirst()
      return true
    }
    for name in ["utc", "gmt"] as [StaticString] {
      let isName = name.withUTF8Buffer { name in
        rest.count >= name.count && zip(rest, name).allSatisfy { $0 | 0x20 == $1 }
      }
      guard isName else { continue }
      rest = rest.dropFirst(name.utf8CodeUnitCount)
      return true
    }
    return false
  }

  /// Returns the seconds of `h`, `hh`, `h:mm`, `hh:mm`, `hmm` or `hhmm`.
  private static func clock(_ text: some Collection<UInt8>) -> Int? {
    var (number, digits, colon) = (0, 0, -1)
    for byte in text {
      if byte == UInt8(ascii: ":") {
        guard colon < 0, 1...2 ~= digits else { return nil }
        colon = digits
        continue
      }
      guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte, digits < 4 else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
      digits += 1
    }
    guard digits > 0, colon < 0 || digits - colon == 2 else { return nil }
    let (hours, minutes) = digits <= 2 ? (number, 0) : (number / 100, number % 100)
    return minutes < 60 ? hours * 3600 + minutes * 60 : nil
  }
}
