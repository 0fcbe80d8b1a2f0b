/// Other push system whose exports `devices import` reads. Raw values are the values of the option `--from`.
public enum ForeignSystem: String, CaseIterable, Sendable {
  case onesignal, braze, pinpoint, firebase, gorush

  /// Meanings of the columns in its exports.
  var mapping: ForeignMapping {
    switch self {
    case .onesignal: .onesignal
    case .braze: .braze
    case .pinpoint: .pinpoint
    case .firebase: .firebase
    case .gorush: .gorush
    }
  }
}
