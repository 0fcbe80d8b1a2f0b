/// Byte order mark that some editors and exports write at the start of a UTF-8 file. It does not belong to the text.
///
/// Source: The Unicode Standard, section 23.8, "Byte Order Mark (BOM)"; RFC 8259, section 8.1, for JSON.
public enum ByteOrderMark {
  /// U+FEFF in UTF-8.
  public static let bytes: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// Returns the text without a mark at its start.
  public static func dropped(from text: [UInt8]) -> [UInt8] {
    text.starts(with: bytes) ? Array(text.dropFirst(bytes.count)) : text
  }
}
