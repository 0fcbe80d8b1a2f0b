internal import PushCore

/// The id of a broadcast channel: Base64 that APNs generates. Its size is not documented.
public enum ChannelID {
  /// The longest accepted id, in characters. The ledger stores the id in place of a device token.
  public static let maximumLength = 200

  /// Returns the reason why a text can't be the id of a channel; `nil` for a possible id.
  public static func problem(_ text: String) -> String? {
    if text.isEmpty { return "is empty" }
    if text.utf8.count > maximumLength { return "longer than \(maximumLength) characters" }
    let isBase64 = text.utf8.allSatisfy { byte in
      PlainName.isLetter(byte) && byte != UInt8(ascii: ".") || [0x2B, 0x2F, 0x3D].contains(byte)
    }
    return isBase64 ? nil : "is not Base64"
  }
}
