/// A device as it stands in its user's record; the layout is told in `Scripts/device.lua`.
public struct DeviceRecord: Equatable, Sendable {
  /// The raw token.
  public var token: [UInt8]
  /// When the device registered, in ms since the epoch; 0 when nobody said.
  public var registeredAt: UInt64 = 0
  /// When the app was last seen on it, in ms since the epoch; 0 when nobody said.
  public var lastSeen: UInt64 = 0
  /// Whether APNs called the token bad: it is kept, and not sent to.
  public var isQuarantined = false
  /// The app it registered for; empty for any.
  public var app = ""
  /// `production` or `sandbox`; empty for the app's own.
  public var environment = ""
  public var locale = ""
  /// IANA name.
  public var timezone = ""
  public var appVersion = ""
  public var osVersion = ""

  /// - Parameter token: raw, 1 to 200 bytes.
  public init(token: [UInt8]) {
    self.token = token
  }

  /// Appends the record as stored. Names are cut at 255 bytes: their lengths are one byte.
  func write(to bytes: inout [UInt8]) {
    let start = bytes.count
    bytes.append(contentsOf: [0, 0, UInt8(token.count)])
    bytes.append(contentsOf: token)
    for time in [registeredAt, lastSeen] {
      for shift in stride(from: 40, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: time >> UInt64(shift)))
      }
    }
    bytes.append(isQuarantined ? 1 : 0)
    for name in [app, environment, locale, timezone, appVersion, osVersion] {
      let text = name.utf8.prefix(255)
      bytes.append(UInt8(text.count))
      bytes.append(contentsOf: text)
    }
    let length = bytes.count - start - 2
    bytes[start] = UInt8(length >> 8)
    bytes[start + 1] = UInt8(length & 255)
  }

  /// All devices of a user's record.
  static func all(in record: UnsafeRawBufferPointer) -> [DeviceRecord] {
    DeviceCursor(record).map { view in
      var device = DeviceRecord(token: Array(view.token))
      device.registeredAt = view.time(0)
      device.lastSeen = view.time(6)
      device.isQuarantined = view.isQuarantined
      var names = view.names.makeIterator()
      device.app = names.next() ?? ""
      device.environment = names.next() ?? ""
      device.locale = names.next() ?? ""
      device.timezone = names.next() ?? ""
      device.appVersion = names.next() ?? ""
      device.osVersion = names.next() ?? ""
      return device
    }
  }
}

/// Walks over the devices of a user's record without copying; expansion reads millions of them.
struct DeviceCursor: Sequence, IteratorProtocol {
  private let record: UnsafeRawBufferPointer
  private var offset = 0

  init(_ record: UnsafeRawBufferPointer) {
    self.record = record
  }

  mutating func next() -> DeviceView? {
    guard offset + 3 <= record.count else { return nil }
    let length = Int(record[offset]) << 8 | Int(record[offset + 1])
    let end = offset + 2 + length
    let tokenLength = Int(record[offset + 2])
    guard end <= record.count, offset + 3 + tokenLength + 13 <= end else { return nil }
    defer { offset = end }
    return DeviceView(bytes: UnsafeRawBufferPointer(rebasing: record[offset..<end]), tokenLength: tokenLength)
  }
}

/// One device of a record, in place. Valid as long as the record's bytes are.
struct DeviceView {
  let bytes: UnsafeRawBufferPointer
  let tokenLength: Int

  var token: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[3..<(3 + tokenLength)]) }
  var isQuarantined: Bool { bytes[3 + tokenLength + 12] & 1 == 1 }

  func time(_ offset: Int) -> UInt64 {
    bytes[(3 + tokenLength + offset)..<(3 + tokenLength + offset + 6)].reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The bytes of the name at `position` (app is 0, environment 1), or nothing.
  func name(_ position: Int) -> UnsafeRawBufferPointer {
    var at = 3 + tokenLength + 13
    for _ in 0..<position {
      guard at < bytes.count else { break }
      at += 1 + Int(bytes[at])
    }
    guard at < bytes.count, at + 1 + Int(bytes[at]) <= bytes.count else {
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return UnsafeRawBufferPointer(rebasing: bytes[(at + 1)..<(at + 1 + Int(bytes[at]))])
  }

  var names: [String] { (0..<6).map { String(decoding: name($0), as: UTF8.self) } }
}
