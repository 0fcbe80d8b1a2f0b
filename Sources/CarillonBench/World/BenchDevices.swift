import CommandSupport
import Glibc

/// The devices of a benchmark. The same seed gives the same devices on every machine.
///
/// A fifth of the devices are second devices of their users. Tokens are 32 random bytes, so they have no order.
struct BenchDevices: Sendable {
  /// Number of devices, not counting the devices of the urgent users.
  var count: Int
  /// Number of additional, urgent users with one device each. Campaigns can exclude them.
  var urgent = 0
  var seed: UInt64
  /// Whether users have a name, a price and a day for personal texts.
  var hasAttributes = false

  /// Prefix of the urgent users' tokens in hex. No other token has it.
  static let urgentPrefix = "eeee"
  /// Buffer size in bytes. One system call writes some thousand rows.
  private static let chunk = 1 << 20
  private static let locales = ["en", "de", "fr", "es", "ja"].map { Array($0.utf8) }

  /// Name of this set of devices. It distinguishes sets with the same seed.
  var name: String { "registry-\(count)-\(urgent)\(hasAttributes ? "-attributes" : "")" }
  /// Number of users without the urgent ones.
  var users: Int { max(1, count * 4 / 5) }

  /// Writes the devices for `devices import`, and the urgent users for `segment import`.
  func write(devices: String, urgent names: String) throws {
    let file = try OutputFile(devices)
    let attributes = hasAttributes ? ",name,price,day" : ""
    var bytes = Array("user,token,app,environment,locale,appVersion,registeredAt\(attributes)\n".utf8)
    var random = SplitMix(state: seed)
    for row in 0..<count + urgent {
      append(row, to: &bytes, &random)
      if bytes.count > Self.chunk { try file.write(&bytes) }
    }
    try file.write(&bytes)
    for user in 0..<urgent { bytes += "x\(user)\n".utf8 }
    try OutputFile(names).write(&bytes)
  }

  /// Writes the tokens in hex, one per line. Each line begins with `prefix`.
  func writeTokens(_ path: String, prefix: String = "") throws {
    var bytes: [UInt8] = []
    var random = SplitMix(state: seed)
    for _ in 0..<count {
      bytes += prefix.utf8
      Self.appendToken(to: &bytes, &random, isUrgent: false)
      bytes.append(UInt8(ascii: "\n"))
    }
    try OutputFile(path).write(&bytes)
  }

  private func append(_ row: Int, to bytes: inout [UInt8], _ random: inout SplitMix) {
    let isUrgent = row >= count
    // Every fourth user has a second device.
    let user = isUrgent ? row - count : row < users ? row : (row - users) * 4 % users
    bytes.append(isUrgent ? UInt8(ascii: "x") : UInt8(ascii: "u"))
    bytes += String(user).utf8
    bytes.append(UInt8(ascii: ","))
    Self.appendToken(to: &bytes, &random, isUrgent: isUrgent)
    bytes += ",news,production,".utf8
    let bits = random.next()
    bytes += Self.locales[Int(bits % 5)]
    bytes += ",5.".utf8
    bytes.append(UInt8(ascii: "0") + UInt8(bits >> 32 & 3))
    bytes += ",2026-01-01T00:00:00Z".utf8
    if hasAttributes {
      bytes += ",Name \(bits >> 40 & 0xFFFF),\(bits >> 16 & 0x3FFF).5,2026-12-0\((bits >> 36) % 9 + 1)".utf8
    }
    bytes.append(UInt8(ascii: "\n"))
  }

  private static func appendToken(to bytes: inout [UInt8], _ random: inout SplitMix, isUrgent: Bool) {
    for word in 0..<4 {
      var bits = random.next()
      if word == 0 {
        // The first two bytes show whether the device is urgent.
        bits = isUrgent ? bits & ~0xFFFF | 0xEEEE : bits & 0xFFFF == 0xEEEE ? bits ^ 1 : bits
      }
      for _ in 0..<8 {
        bytes.append(digits[Int(bits >> 4 & 15)])
        bytes.append(digits[Int(bits & 15)])
        bits >>= 8
      }
    }
  }

  private static let digits = Array("0123456789abcdef".utf8)
}

/// SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators").
struct SplitMix: RandomNumberGenerator, Sendable {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}

/// A file that is written sequentially. An existing file is replaced.
final class OutputFile {
  private let path: String
  private let descriptor: Int32

  init(_ path: String) throws(FileError) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw FileError.last(path) }
  }

  deinit { close(descriptor) }

  /// Writes the bytes and empties the array.
  func write(_ bytes: inout [UInt8]) throws(FileError) {
    var written = 0
    while written < bytes.count {
      // write(2) may write only a part of the bytes, so the loop repeats it.
      let count = bytes.withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress.map { $0 + written }, $0.count - written)
      }
      if count >= 0 {
        written += count
      } else if errno != EINTR {
        throw FileError.last(path)
      }
    }
    bytes.removeAll(keepingCapacity: true)
  }
}
