internal import CNghttp2

/// Reader of an answer's header block: stores the fields that matter, and whether the block is valid (RFC 9113 section
/// 8).
///
/// nghttp2's HPACK decoder decodes the block (nghttp2_hd_inflate_hd2(3)), unless the block is identical to the previous
/// one (``LastBlock``).
final class AnswerFields {
  /// The content of a block.
  struct Content: Equatable {
    /// The status; 0 for a block without one.
    var status: UInt16 = 0
    /// Seconds of a `retry-after` field; 0 without one.
    var retryAfter: UInt16 = 0
    /// Time of a `retry-after` field that has a date, and time of the `date` field of the same answer, both in UNIX
    /// seconds; 0 without the field. `date` is read only in answers with status 429 or 5xx.
    var retryAt: UInt32 = 0
    var date: UInt32 = 0
    /// Value of `content-length`; -1 without the field.
    var bodyCount = -1
    /// Whether the block breaks the rules for messages, or is too long.
    var isMalformed = false
    /// Size in bytes, as SETTINGS_MAX_HEADER_LIST_SIZE counts it (RFC 9113 section 6.5.2).
    var size = 0
    var hasFields = false
  }

  /// Maximum size of a header block in bytes. A larger block counts as malformed, so that memory is bounded. APNs'
  /// header blocks have a few hundred bytes.
  static let longestList = 16_384

  private(set) var content = Content()
  private let inflater: OpaquePointer
  private let blocks = SessionMemory()
  private var last = LastBlock()
  /// Whether the next piece is the first one of its block.
  private var isAtStart = true
  /// Allocation functions for nghttp2, which stores a pointer to them (hd_context_init in nghttp2_hd.c).
  private let functions: UnsafeMutablePointer<nghttp2_mem>

  /// - Throws: ``HTTP2Error`` if memory is short.
  init() throws {
    functions = .allocate(capacity: 1)
    functions.initialize(to: blocks.functions())
    var made: OpaquePointer?
    let status = nghttp2_hd_inflate_new2(&made, functions)
    guard status == 0, let made else {
      functions.deallocate()
      throw HTTP2Error("make a session", code: Int(status == 0 ? NGHTTP2_ERR_NOMEM.rawValue : status))
    }
    inflater = made
  }

  deinit {
    nghttp2_hd_inflate_del(inflater)
    functions.deallocate()
  }

  /// Reads a piece of a header block. After the last piece, ``content`` is the content of the block.
  ///
  /// - Parameter isLast: whether this is the last piece of the block.
  /// - Returns: `false` if the bytes are not HPACK. If so, the connection must be closed (RFC 9113 section 4.3).
  func read(_ bytes: UnsafeRawBufferPointer, isLast: Bool) -> Bool {
    let isWhole = isAtStart && isLast
    if isWhole, last.isRepeated(by: bytes) { return true }
    last.remove()
    if isAtStart { content = Content() }
    isAtStart = isLast
    guard decode(bytes, isLast: isLast) else { return false }
    if isWhole { last.store(bytes) }
    return true
  }

  private func decode(_ bytes: UnsafeRawBufferPointer, isLast: Bool) -> Bool {
    var next = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var left = bytes.count
    var field = nghttp2_nv()
    while true {
      var flags: Int32 = 0
      let count = nghttp2_hd_inflate_hd2(inflater, &field, &flags, next, left, isLast ? 1 : 0)
      guard count >= 0 else { return false }
      next = next.map { $0 + count }
      left -= count
      let isField = flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0
      if isField { take(field) }
      if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
        nghttp2_hd_inflate_end_headers(inflater)
        return true
      }
      if !isField, left == 0 { return true }
    }
  }

  private func take(_ field: nghttp2_nv) {
    guard !content.isMalformed, let name = field.name, let value = field.value else { return }
    content.size += field.namelen + field.valuelen + 32
    guard content.size <= Self.longestList else { return content.isMalformed = true }
    let text = UnsafeBufferPointer(start: value, count: field.valuelen)
    guard field.namelen > 0, name[0] != UInt8(ascii: ":") else {
      return takePseudo(UnsafeBufferPointer(start: name, count: field.namelen), text)
    }
    content.hasFields = true
    guard nghttp2_check_header_name(name, field.namelen) != 0,
      nghttp2_check_header_value_rfc9113(value, field.valuelen) != 0
    else { return content.isMalformed = true }
    takeField(UnsafeBufferPointer(start: name, count: field.namelen), text)
  }

  /// Reads a pseudo-header. RFC 9113 section 8.3.2: an answer has one pseudo-header, before all fields; trailers have
  /// none.
  private func takePseudo(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
    guard Self.matches(name, ":status"), !content.hasFields, content.status == 0, value.count == 3,
      let status = Self.number(value), status >= 100
    else { return content.isMalformed = true }
    content.status = UInt16(status)
  }

  /// Reads a field. Compares the length of the name first, because most answers have none of these fields.
  private func takeField(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
    switch name.count {
    case 2 where Self.matches(name, "te"):
      if !Self.matches(value, "trailers") { content.isMalformed = true }
    case 4 where isDelayed && Self.matches(name, "date"):
      content.date = HTTPDate.seconds(value) ?? 0
    case 11 where Self.matches(name, "retry-after"):
      if let seconds = Self.number(value) {
        content.retryAfter = UInt16(clamping: seconds)
      } else {
        content.retryAt = HTTPDate.seconds(value) ?? 0
      }
    case 14 where Self.matches(name, "content-length"):
      guard let count = Self.number(value), content.bodyCount < 0 || content.bodyCount == count else {
        return content.isMalformed = true
      }
      content.bodyCount = count
    case 7, 10, 16, 17:
      // HTTP/2 forbids these fields (RFC 9113 section 8.2.2).
      let isOfHTTP1 =
        Self.matches(name, "upgrade") || Self.matches(name, "connection") || Self.matches(name, "keep-alive")
        || Self.matches(name, "proxy-connection") || Self.matches(name, "transfer-encoding")
      if isOfHTTP1 { content.isMalformed = true }
    default: break
    }
  }

  /// Whether the answer asks for a later attempt, so that its dates matter.
  private var isDelayed: Bool { content.status == 429 || content.status >= 500 }

  /// Returns whether bytes equal these characters. Runs for every field of every answer.
  private static func matches(_ bytes: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
    guard bytes.count == text.utf8CodeUnitCount, let start = bytes.baseAddress else { return false }
    let characters = text.utf8Start
    for index in 0..<bytes.count where start[index] != characters[index] { return false }
    return true
  }

  /// Parses a decimal number; `nil` for any other text. The result is at most the largest `Int32`.
  private static func number(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    guard !bytes.isEmpty else { return nil }
    var value = 0
    for byte in bytes {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      value = min(value * 10 + Int(byte - UInt8(ascii: "0")), Int(Int32.max))
    }
    return value
  }
}
