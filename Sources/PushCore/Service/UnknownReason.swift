/// The text of a reason that this version does not know. Logs, CSV files and terminals show it, so it contains only
/// printable ASCII and is short.
public enum UnknownReason {
  /// Maximum length in bytes. The longest known reasons have 27 bytes (Apple) and about 40 bytes (Google).
  public static let longest = 64

  /// Returns the beginning of the reason that a push service sent, with `?` in place of every byte that is not
  /// printable ASCII.
  public static func text(_ word: some Sequence<UInt8>) -> String {
    String(
      decoding: word.prefix(longest).map { (0x20..<0x7f).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }
}
