/// Form of an address of a device: a registration token or a Firebase installation ID.
///
/// Both forms use the same alphabet and have the same column in the store, so this type distinguishes them by their
/// text. Source: FCM's discovery document (`fcm:v1`, fields `token` and `fid`) and the Firebase Installations SDK.
enum TokenForm: Equatable {
  /// Registration token, sent as `message.token`. It contains a colon.
  case registration
  /// Firebase installation ID, sent as `message.fid`: 22 characters, the first one of `cdef`.
  case installation

  /// Length of a Firebase installation ID in bytes.
  static let installationLength = 22
  /// Longest accepted address in bytes. Google documents no limit; tokens of 2026 have 142 to 163 bytes.
  static let maximumLength = 2048

  /// Returns the form of a text; `nil` if FCM can't have issued it.
  ///
  /// A text without a colon that is not an installation ID is refused: FCM would answer it with `UNREGISTERED`, as for
  /// an uninstalled app, although the text may only have a typing error.
  init?(_ text: some Collection<UInt8>) {
    guard !text.isEmpty, text.count <= Self.maximumLength else { return nil }
    var hasColon = false
    for byte in text {
      switch byte {
      case UInt8(ascii: ":"): hasColon = true
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        break
      default: return nil
      }
    }
    if hasColon {
      self = .registration
      return
    }
    guard text.count == Self.installationLength, let first = text.first,
      (UInt8(ascii: "c")...UInt8(ascii: "f")).contains(first)
    else { return nil }
    self = .installation
  }

  /// Returns whether a text is an installation ID. The function runs for every push. For almost every registration
  /// token, the length is sufficient for the result.
  static func isInstallation(_ text: ArraySlice<UInt8>) -> Bool {
    text.count == installationLength && TokenForm(text) == .installation
  }
}
