/// Kind of a token. On one device, an app has a separate token for each kind, and a campaign goes to tokens of one kind
/// (``PushService/tokenKind(for:)``). Raw values are names in files, commands and JSON.
public enum TokenKind: String, CaseIterable, Sendable {
  case alert, voip, complication, widgets, controls, fileprovider, location, pushtotalk
  /// Token that starts a Live Activity.
  case liveActivityStart = "liveactivity-start"
  /// Token that updates and ends one Live Activity.
  case liveActivity = "liveactivity"

  /// Code of the kind in device records. The codes are never renumbered.
  public var code: UInt8 {
    switch self {
    case .alert: 0
    case .voip: 1
    case .complication: 2
    case .widgets: 3
    case .controls: 4
    case .fileprovider: 5
    case .location: 6
    case .pushtotalk: 7
    case .liveActivityStart: 8
    case .liveActivity: 9
    }
  }

  /// - Returns: `nil` for a code that no version has written.
  public init?(code: UInt8) {
    guard let kind = Self.allCases.first(where: { $0.code == code }) else { return nil }
    self = kind
  }
}
