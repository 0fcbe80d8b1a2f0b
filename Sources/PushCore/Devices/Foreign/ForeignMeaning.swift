/// Meaning of a column in a foreign export. A member of a JSON object is also a column, with its path as the name:
/// `User.UserId`.
enum ForeignMeaning: Sendable {
  /// A column of Carillon.
  case column(DeviceColumn, ForeignText = .plain)
  /// A column of Carillon, if no other column contains it.
  case standIn(DeviceColumn, ForeignText = .plain)
  /// An attribute of the user, with this name.
  case attribute(String)
  /// An object whose members are attributes; in CSV, its JSON text.
  case attributes
  /// The kind of device, by these values in lower case. Any other value is an error, unless `otherwise` has a meaning
  /// for it.
  case device([String: ForeignDevice], otherwise: ForeignDevice? = nil)
  /// An APNs token. A token of another kind in this column means that the device is left out.
  case apnsToken(otherwise: String)
  /// A list of objects, each with one device.
  case each(ForeignMapping)
  /// A list of texts, each the token of one device.
  case tokens
  /// A column that a push does not need.
  case nothing

  /// Explanation for people, shown after the column's name.
  var explanation: String {
    switch self {
    case .column(let column, let text): column.rawValue + text.explanation
    case .standIn(let column, let text): "\(column.rawValue), if no other column has it\(text.explanation)"
    case .attribute(let name): "attribute \(name)"
    case .attributes: "attributes of the user"
    case .device: "selects the imported devices and their kind"
    case .apnsToken: "token, if it is an APNs token"
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
  /// Reason why the device is left out; `nil` if it is imported.
  var reason: String?

  static let taken = ForeignDevice()

  static func of(_ environment: PushEnvironment, _ kind: TokenKind? = nil) -> ForeignDevice {
    ForeignDevice(kind: kind, environment: environment)
  }

  static func leftOut(_ reason: String) -> ForeignDevice { ForeignDevice(reason: reason) }
}
