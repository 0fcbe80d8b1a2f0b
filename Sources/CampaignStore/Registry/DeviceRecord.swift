public import PushCore

/// A device in its user's record. `device.lua` describes the layout.
public struct DeviceRecord: Equatable, Sendable {
  /// Version of the layout. A store has records of one version only, so a new version needs a new
  /// ``CampaignStore/layoutVersion`` too.
  static let version: UInt8 = 1

  /// The token, 1 to 2,048 bytes.
  public var token: [UInt8]
  /// Name of the token's push service.
  public var service: String
  /// The purpose of the token.
  public var kind = TokenKind.alert
  /// When the device registered, in ms since the epoch; 0 if unknown.
  public var registeredAt: UInt64 = 0
  /// When the app was last seen on the device, in ms since the epoch; 0 if unknown.
  public var lastSeen: UInt64 = 0
  /// Whether the service called the token bad. A quarantined device stays in the record but gets no pushes.
  public var isQuarantined = false
  /// The app for which the token registered; empty for any app.
  public var app = ""
  /// `production` or `sandbox`; empty for the app's own environment.
  public var environment = ""
  public var locale = ""
  /// IANA name of the time zone.
  public var timezone = ""
  public var appVersion = ""
  public var osVersion = ""
  /// Other data that the service needs, by name; a name has at most 255 bytes.
  public var attributes: [String: String] = [:]

  /// Name of the attribute with the Live Activity of a token.
  static let activityName = "activity"
  /// The Live Activity that the token updates; `nil` for a token of any other kind, and if the activity is unknown.
  public var activity: String? {
    get { attributes[Self.activityName] }
    set { attributes[Self.activityName] = newValue }
  }

  /// Creates a device.
  ///
  /// - Parameters:
  ///   - token: 1 to 2,048 bytes.
  ///   - service: name of the token's push service.
  public init(token: [UInt8], service: String) {
    self.token = token
    self.service = service
  }

  /// Appends the stored form of the device. Names are cut at 255 bytes, because their lengths have one byte.
  ///
  /// - Throws: ``StoreError`` `invalid` if the record with its attributes exceeds 65,535 bytes.
  func write(to bytes: inout [UInt8]) throws(StoreError) {
    let start = bytes.count
    bytes.append(contentsOf: [0, 0, Self.version, isQuarantined ? 1 : 0, kind.code])
    for time in [registeredAt, lastSeen] {
      for shift in stride(from: 40, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: time >> UInt64(shift)))
      }
    }
    bytes.append(length: token.count)
    bytes.append(contentsOf: token)
    for name in [service, app, environment, locale, timezone, appVersion, osVersion] { bytes.append(name: name) }
    for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
      bytes.append(name: name)
      bytes.append(length: value.utf8.count)
      bytes.append(contentsOf: value.utf8)
    }
    let length = bytes.count - start - 2
    guard length <= UInt16.max else {
      throw StoreError(
        .invalid, "a device has \(length) bytes with its attributes, at most \(UInt16.max) can be stored",
        hint: "use fewer or shorter attributes")
    }
    bytes[start] = UInt8(length >> 8)
    bytes[start + 1] = UInt8(length & 255)
  }

  /// Returns all devices of a user's record.
  static func all(in record: UnsafeRawBufferPointer) -> [DeviceRecord] {
    DeviceCursor(record).map { view in
      var device = DeviceRecord(token: Array(view.token), service: view.text(.service))
      device.kind = TokenKind(code: view.kind) ?? .alert
      device.registeredAt = view.registeredAt
      device.lastSeen = view.lastSeen
      device.isQuarantined = view.isQuarantined
      device.app = view.text(.app)
      device.environment = view.text(.environment)
      device.locale = view.text(.locale)
      device.timezone = view.text(.timezone)
      device.appVersion = view.text(.appVersion)
      device.osVersion = view.text(.osVersion)
      device.attributes = view.attributes
      return device
    }
  }
}

extension [UInt8] {
  /// Appends a length in two bytes.
  mutating func append(length: Int) {
    append(UInt8(truncatingIfNeeded: length >> 8))
    append(UInt8(truncatingIfNeeded: length))
  }

  /// Appends a length in one byte and a text, which is cut at 255 bytes.
  mutating func append(name: String) {
    let text = name.utf8.prefix(255)
    append(UInt8(text.count))
    append(contentsOf: text)
  }
}

/// Iterates over the devices of a user's record without copying them, because an expansion reads millions of devices.
struct DeviceCursor: Sequence, IteratorProtocol {
  private let record: UnsafeRawBufferPointer
  private var offset = 0

  init(_ record: UnsafeRawBufferPointer) {
    self.record = record
  }

  mutating func next() -> DeviceView? {
    while offset + 2 <= record.count {
      let end = offset + 2 + record.length(at: offset)
      guard end <= record.count else { return nil }
      let view = DeviceView(UnsafeRawBufferPointer(rebasing: record[offset..<end]))
      offset = end
      if let view { return view }
    }
    return nil
  }
}

/// One device of a record, read in place without a copy. The view is valid as long as the bytes of the record.
struct DeviceView {
  /// The texts of a device, in the order in which they are stored.
  enum Name: Int {
    case service, app, environment, locale, timezone, appVersion, osVersion
  }

  /// The device's bytes, including their length at the beginning.
  let bytes: UnsafeRawBufferPointer
  private let tokenEnd: Int

  /// Offset of the token, after lengths, version, flags, kind and times.
  static let tokenStart = 19

  /// Creates a view.
  /// - Returns: `nil` for a record that this version of Carillon can't read.
  fileprivate init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.tokenStart, bytes[2] == DeviceRecord.version else { return nil }
    tokenEnd = Self.tokenStart + bytes.length(at: Self.tokenStart - 2)
    guard tokenEnd <= bytes.count else { return nil }
    self.bytes = bytes
  }

  var token: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[Self.tokenStart..<tokenEnd]) }
  var isQuarantined: Bool { bytes[3] & 1 == 1 }
  var kind: UInt8 { bytes[4] }
  var registeredAt: UInt64 { time(at: 5) }
  var lastSeen: UInt64 { time(at: 11) }

  /// When the device was last seen. A registration counts as seen.
  var seenAt: UInt64 { max(registeredAt, lastSeen) }

  private func time(at place: Int) -> UInt64 {
    bytes[place..<(place + 6)].reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Returns the bytes of a text; empty if it is missing.
  func name(_ name: Name) -> UnsafeRawBufferPointer {
    var at = tokenEnd
    for _ in 0..<name.rawValue {
      guard at < bytes.count else { break }
      at += 1 + Int(bytes[at])
    }
    guard at < bytes.count, at + 1 + Int(bytes[at]) <= bytes.count else {
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return UnsafeRawBufferPointer(rebasing: bytes[(at + 1)..<(at + 1 + Int(bytes[at]))])
  }

  func text(_ name: Name) -> String { String(decoding: self.name(name), as: UTF8.self) }

  /// The attributes after the last text, each a name and a value.
  var attributes: [String: String] {
    var attributes: [String: String] = [:]
    forEachAttribute { name, value in
      attributes[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
      return true
    }
    return attributes
  }

  /// Returns the bytes of an attribute; empty if it is missing.
  func attribute(_ wanted: [UInt8]) -> UnsafeRawBufferPointer {
    var found = UnsafeRawBufferPointer(start: nil, count: 0)
    forEachAttribute { name, value in
      guard name.elementsEqual(wanted) else { return true }
      found = value
      return false
    }
    return found
  }

  /// Calls `body` with the name and the value of each attribute, until it returns false.
  private func forEachAttribute(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool) {
    let last = name(.osVersion)
    guard var at = last.baseAddress.flatMap({ end in bytes.baseAddress.map { end + last.count - $0 } }) else { return }
    while at + 3 <= bytes.count {
      let nameEnd = at + 1 + Int(bytes[at])
      guard nameEnd + 2 <= bytes.count else { return }
      let end = nameEnd + 2 + bytes.length(at: nameEnd)
      guard end <= bytes.count else { return }
      let name = UnsafeRawBufferPointer(rebasing: bytes[(at + 1)..<nameEnd])
      guard body(name, UnsafeRawBufferPointer(rebasing: bytes[(nameEnd + 2)..<end])) else { return }
      at = end
    }
  }
}

extension DeviceView: PredicateSubject {
  func bytes(of field: DevicePredicate.TextField) -> UnsafeRawBufferPointer {
    switch field {
    case .locale: name(.locale)
    case .timezone: name(.timezone)
    case .environment: name(.environment)
    }
  }

  func bytes(of field: DevicePredicate.VersionField) -> UnsafeRawBufferPointer {
    switch field {
    case .appVersion: name(.appVersion)
    case .osVersion: name(.osVersion)
    }
  }

  func time(of field: DevicePredicate.TimeField) -> UInt64 {
    switch field {
    case .registeredAt: registeredAt
    case .lastSeen: lastSeen
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Returns the length in two bytes.
  func length(at place: Int) -> Int { Int(self[place]) << 8 | Int(self[place + 1]) }
}
