/// The values of `apns-push-type` and what each allows in size.
enum PushType {
  /// The most bytes of body for `value`, or `nil` when there is no such push type.
  static func payloadLimit(_ value: UnsafeRawBufferPointer) -> Int32? {
    switch value.count {
    case 3: value.matches("mdm") ? usual : nil
    case 4: value.matches("voip") ? 5120 : nil
    case 5: value.matches("alert") ? usual : nil
    case 7: value.matches("widgets") ? usual : nil
    case 8: value.matches("location") || value.matches("controls") ? usual : nil
    case 10: value.matches("background") || value.matches("pushtotalk") ? usual : nil
    case 12:
      value.matches("complication") || value.matches("fileprovider") || value.matches("liveactivity") ? usual : nil
    default: nil
    }
  }

  /// Bytes of body that all but `voip` may have, also without the header.
  static let usual: Int32 = 4096
}
