internal import CNghttp2

/// Has HPACK index `authorization`, which nghttp2 refuses to (nghttp2_hd.c, `deflate_nv`: the value could be a guessable
/// secret). A provider token is the same for half an hour, and its signature is not to be guessed: Apple, "Establishing a
/// connection to APNs", has it indexed. Sent anew, its 200 bytes are most of a push's headers, and their Huffman code
/// most of the work.
///
/// nghttp2 is given a name that it doesn't know, and where that name appears in a frame, which it does once for each
/// connection, the true one is put in its place. Both have the same length as text and in Huffman code, so the tables of
/// both ends agree in size and order.
enum IndexedAuthorization {
  static let name = "authorization"
  static let alias = "authorizatiom"

  // RFC 7541 section 5.2 and appendix B: length with the Huffman bit, and the code of the alias; the names differ in the
  // last byte only, by `m` (101001) and `n` (101010).
  private static let head: UInt64 = 0x891d_a99c_f61b_d8d2
  private static let tail: UInt16 = 0x63d3
  private static let trueEnd: UInt8 = 0xd5
  private static let count = 10

  /// The size of the smallest frame that spells the alias out: it then spells the value out as well, in Huffman codes of
  /// at least five bits.
  static func smallestFrame(value: String) -> Int { frameHeader + 1 + count + 1 + value.utf8.count * 5 / 8 }

  /// Puts the true name into a HEADERS frame that spells the alias out.
  ///
  /// - Returns: whether it did.
  static func restoreName(in frame: UnsafeMutableRawBufferPointer) -> Bool {
    // The type is the fourth byte of the frame header.
    guard frame.count >= frameHeader + count, frame[3] == UInt8(NGHTTP2_HEADERS.rawValue) else { return false }
    var isFound = false
    for place in frameHeader...frame.count - count
    where UInt64(bigEndian: frame.loadUnaligned(fromByteOffset: place, as: UInt64.self)) == head
      && UInt16(bigEndian: frame.loadUnaligned(fromByteOffset: place + 8, as: UInt16.self)) == tail
    {
      frame[place + count - 1] = trueEnd
      isFound = true
    }
    return isFound
  }

  /// RFC 9113 section 4.1.
  private static let frameHeader = 9
}
