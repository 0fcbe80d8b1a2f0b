public import Foundation

/// A folder with generated time zones, so that a test controls the local times.
public enum ZoneFile {
  /// Returns a TZif file (RFC 8536) of a zone with a constant offset.
  ///
  /// - Parameter offset: seconds ahead of UTC, less than a day.
  public static func fixed(_ offset: Int) -> [UInt8] {
    func block(version: UInt8) -> [UInt8] {
      // The counts of the header: no UT/local and no standard/wall indicators, leap seconds or transitions; one local
      // time type, and four bytes for its name.
      let counts: [UInt8] = [0, 0, 0, 0, 1, 4].flatMap { [0, 0, 0, $0] }
      let type = (0..<4).map { UInt8(truncatingIfNeeded: offset >> (24 - 8 * $0)) } + [0, 0]
      return Array("TZif".utf8) + [version] + Array(repeating: 0, count: 15) + counts + type + Array("AAA\0".utf8)
    }
    // In a POSIX time zone a positive offset is west of Greenwich.
    let (sign, size) = (offset > 0 ? "-" : "", abs(offset))
    let version = UInt8(ascii: "2")
    return block(version: version) + block(version: version)
      + Array("\nAAA\(sign)\(size / 3600):\(two(size / 60 % 60)):\(two(size % 60))\n".utf8)
  }

  /// Writes zones into a folder.
  ///
  /// - Parameter zones: offsets in seconds by name. `UTC` is always included.
  public static func write(_ zones: [String: Int], to folder: URL) throws {
    for (name, offset) in zones.merging(["UTC": 0], uniquingKeysWith: { given, _ in given }) {
      let file = folder.appending(path: name)
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(fixed(offset)).write(to: file)
    }
  }

  private static func two(_ number: Int) -> String { (number < 10 ? "0" : "") + "\(number)" }
}
