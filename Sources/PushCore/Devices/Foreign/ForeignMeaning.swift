/// Meaning of a column in a foreign export. A member of a JSON object is also a column, with its path as the name:
/// `User.UserId`.
enum ForeignMeaning: Sendable {
  /// A column of Carillon.
  case column(DeviceColumn, ForeignText = .plain)
  /// A column of Carillon. The value is used only if no other column of the export contains this column.
  case fallback(DeviceColumn, ForeignText = .plain)
  /// The attribute of the user with this name.
  case attribute(String)
  /// An object whose members are attributes of the user. In CSV, the field contains the JSON text of the object.
  case attributes
  /// A value that implies properties of the device. The keys are the known values in lower case. All other values imply
  /// `otherwise`; if `otherwise` is `nil`, they are errors.
  case device([String: ForeignDevice], otherwise: ForeignDevice? = nil)
  /// A token of APNs, or of FCM for an Android device. A device with any other token in this column is left out, with
  /// the text `otherwise` as the reason.
  case anyToken(otherwise: String)
  /// A list of objects, each with one device.
  case each(ForeignMapping)
  /// A list of texts, each the token of one device.
  case tokens
  /// A column that Carillon knows and does not import, because pushes don't need it.
  case nothing

  /// Explanation for people, shown after the column's name.
  var explanation: String {
    switch self {
    case .column(let column, let text): column.rawValue + text.explanation
    case .fallback(let column, let text): "\(column.rawValue), if no other column has it\(text.explanation)"
    case .attribute(let name): "attribute \(name)"
    case .attributes: "attributes of the user"
    case .device: "selects the imported devices and their kind"
    case .anyToken: "token, if it is an APNs token, or of an Android device"
    case .each: "devices"
    case .tokens: "tokens"
    case .nothing: "nothing: not needed for pushes"
    }
  }
}

/// Properties of a device that a value implies.
struct ForeignDevice: Sendable {
  var kind: TokenKind?
  var environment: PushEnvironment?
  /// Push service of the device.
  var service: Service?
  /// Reason why the device is left out; `nil` if it is imported.
  var reason: String?

  /// Push services of the devices in foreign exports. If the app of a device does not use the service, the summary
  /// shows the name of the service's vendor.
  enum Service: String {
    case apns, fcm

    var vendor: String { self == .apns ? "Apple" : "Android" }
  }

  static let taken = ForeignDevice()
  static let apple = ForeignDevice(service: .apns)
  static let android = ForeignDevice(service: .fcm)

  /// Returns the properties of a device in an APNs environment.
  ///
  /// - Parameters:
  ///   - kind: the kind of token, if the value implies it.
  ///   - service: the push service; `nil` if the value can also occur in records of other devices.
  static func of(_ environment: PushEnvironment, _ kind: TokenKind? = nil, _ service: Service? = nil) -> ForeignDevice {
    ForeignDevice(kind: kind, environment: environment, service: service)
  }

  static func leftOut(_ reason: String) -> ForeignDevice { ForeignDevice(reason: reason) }
}
