/// System from which users migrate with an export of its data. Raw values are those of `devices import --from`.
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
