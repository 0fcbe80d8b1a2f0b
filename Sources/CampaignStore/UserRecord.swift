/// A device that registers for a user.
public struct DeviceRegistration: Sendable {
  public var user: String
  public var device: DeviceRecord
  /// The user's attributes as a JSON object; empty leaves them as they are.
  public var attributes: [UInt8]

  /// Memberwise.
  public init(user: String, device: DeviceRecord, attributes: [UInt8] = []) {
    self.user = user
    self.device = device
    self.attributes = attributes
  }
}

/// A user with devices and what else is known.
public struct UserRecord: Sendable {
  public var user: String
  public var devices: [DeviceRecord]
  /// A JSON object; empty when there are none.
  public var attributes: [UInt8]

  /// Memberwise.
  public init(user: String, devices: [DeviceRecord] = [], attributes: [UInt8] = []) {
    self.user = user
    self.devices = devices
    self.attributes = attributes
  }
}
