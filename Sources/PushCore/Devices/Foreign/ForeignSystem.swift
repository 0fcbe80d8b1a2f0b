/// A system that others come from with what they have exported of it. Raw values are those of `devices import --from`.
public enum ForeignSystem: String, CaseIterable, Sendable {
  case onesignal, braze, pinpoint, firebase, gorush

  /// What its exports are made of.
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
