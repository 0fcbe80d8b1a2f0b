/// What a column of a foreign export becomes. A member of an object in JSON is a column, too, by its path: `User.UserId`.
enum ForeignMeaning: Sendable {
  /// A column of ours.
  case column(DeviceColumn, ForeignText = .plain)
  /// The same, where no other column gives it.
  case standIn(DeviceColumn, ForeignText = .plain)
  /// An attribute of the user, under this name.
  case attribute(String)
  /// An object whose members are attributes, or in CSV its JSON.
  case attributes
  /// Says which device it is by one of these values, in lower case; any other one is an error unless `otherwise` says
  /// what it means.
  case device([String: ForeignDevice], otherwise: ForeignDevice? = nil)
  /// A token of APNs, or one of another kind that only looks like the column's: then the device is left out.
  case apnsToken(otherwise: String)
  /// A list of objects, each of one device.
  case each(ForeignMapping)
  /// A list of texts, each the token of one device.
  case tokens
  /// Nothing that a push needs.
  case nothing

  /// For people, behind the column's name.
  var explanation: String {
    switch self {
    case .column(let column, let text): column.rawValue + text.explanation
    case .standIn(let column, let text): "\(column.rawValue), where there is no other\(text.explanation)"
    case .attribute(let name): "attribute \(name)"
    case .attributes: "attributes of the user"
    case .device: "which devices are taken, and as what"
    case .apnsToken: "token, if it is one of APNs"
    case .each: "devices"
    case .tokens: "tokens"
    case .nothing: "nothing: a push does not need it"
    }
  }
}

/// What a value says of a device.
struct ForeignDevice: Sendable {
  var kind: TokenKind?
  var environment: PushEnvironment?
  /// Why the device is left out; `nil` where it is taken.
  var reason: String?

  static let taken = ForeignDevice()

  static func of(_ environment: PushEnvironment, _ kind: TokenKind? = nil) -> ForeignDevice {
    ForeignDevice(kind: kind, environment: environment)
  }

  static func leftOut(_ reason: String) -> ForeignDevice { ForeignDevice(reason: reason) }
}
