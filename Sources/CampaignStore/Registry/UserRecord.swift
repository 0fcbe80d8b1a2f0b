public import PushCore
import Redis

/// A device that registers for a user.
public struct DeviceRegistration: Sendable {
  public var user: String
  public var device: DeviceRecord
  /// The user's attributes as a JSON object. If it is empty, the registration does not change the attributes.
  public var attributes: [UInt8]

  /// Creates a registration.
  public init(user: String, device: DeviceRecord, attributes: [UInt8] = []) {
    self.user = user
    self.device = device
    self.attributes = attributes
  }
}

/// A user with devices and attributes.
public struct UserRecord: Sendable {
  public var user: String
  public var devices: [DeviceRecord]
  /// A JSON object; empty if there are none.
  public var attributes: [UInt8]

  /// Creates a record.
  public init(user: String, devices: [DeviceRecord] = [], attributes: [UInt8] = []) {
    self.user = user
    self.devices = devices
    self.attributes = attributes
  }

  /// Creates a record from the stored attributes.
  /// - Parameter stored: the attributes as in Redis.
  init(user: String, devices: [DeviceRecord], stored: RedisReply) {
    self.init(
      user: user, devices: devices, attributes: stored.bytes.map { UserAttributes.visible(Array($0)) } ?? [])
  }
}

extension DeviceRegistration {
  /// Creates the registration of a row.
  ///
  /// - Parameters:
  ///   - row: data of the device and of its user.
  ///   - app: the app of a row that names none; empty if the device may be of any app.
  public init(_ row: DeviceRow, app: String = "") {
    var device = DeviceRecord(token: row.token.bytes, service: row.service)
    device.kind = row.kind
    device.activity = row.activity
    device.registeredAt = UInt64(row.registeredAt ?? 0)
    device.lastSeen = UInt64(row.lastSeen ?? 0)
    device.app = row.app ?? app
    device.environment = row.environment?.rawValue ?? ""
    device.locale = row.locale ?? ""
    device.timezone = row.timezone ?? ""
    device.appVersion = row.appVersion ?? ""
    device.osVersion = row.osVersion ?? ""
    self.init(user: row.user, device: device, attributes: Self.json(row.attributes))
  }

  /// Returns attributes in their stored form: a JSON object of strings; empty if there are none.
  static func json(_ attributes: [String: String]) -> [UInt8] {
    guard !attributes.isEmpty else { return [] }
    var json = JSONWriter()
    json.beginObject()
    for (name, value) in attributes.sorted(by: { $0.key < $1.key }) { json.member(name, value) }
    json.endObject()
    return json.bytes
  }
}
