/// Answer of Redis, or one element of an answer: a view into the storage that all answers of a call share.
///
/// Copying a reply, reading an element and iterating over an array allocate nothing. A view keeps the whole storage of
/// its call alive, so copy the parts that are kept for a long time.
public struct RedisReply: Sendable {
  /// Type of an answer in the protocol RESP2.
  public enum Kind: UInt8, Sendable {
    /// Short text such as `OK`.
    case status
    /// Refusal; see ``RedisReply/error``.
    case error
    /// 64-bit integer.
    case integer
    /// Bytes.
    case bulk
    /// Missing bulk string or array.
    case null
    /// List of replies.
    case array
  }

  private let arena: ReplyArena
  private let index: Int

  init(arena: ReplyArena, index: Int) {
    self.arena = arena
    self.index = index
  }

  private var node: ReplyArena.Node { arena.nodes[index] }

  /// Type of this answer.
  public var kind: Kind { node.kind }

  /// Whether the answer is a null value.
  public var isNull: Bool { kind == .null }

  /// Integer of an integer reply or of decimal text, as in hashes and strings; `nil` for any other answer.
  public var integer: Int? {
    let node = node
    switch node.kind {
    case .integer: return node.value
    case .bulk: return withBytes { Int(decimal: $0) }
    default: return nil
    }
  }

  /// Bytes of a bulk string, status or error; `nil` for other types. Shares the storage.
  public var bytes: ArraySlice<UInt8>? {
    let node = node
    guard node.kind.isText else { return nil }
    return arena.bytes[node.value..<(node.value + Int(node.count))]
  }

  /// Text of ``bytes``, decoded as UTF-8 with invalid bytes replaced; `nil` for types without bytes.
  public var string: String? {
    kind.isText ? withBytes { String(decoding: $0, as: UTF8.self) } : nil
  }

  /// Calls `body` with the bytes of a bulk string, status or error, and with no bytes for other types.
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    let node = node
    guard node.kind.isText else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
    return try arena.bytes.withUnsafeBytes { all in
      try body(UnsafeRawBufferPointer(rebasing: all[node.value..<(node.value + Int(node.count))]))
    }
  }

  /// The refusal, if Redis refused the command; otherwise `nil`.
  public var error: RedisServerError? {
    guard kind == .error else { return nil }
    return RedisServerError(line: withBytes { String(decoding: $0, as: UTF8.self) })
  }

  /// The server's clock in µs since 1970, if this is a reply to `TIME`; otherwise `nil`.
  public var time: Int? {
    guard count == 2, let seconds = self[0].integer, let microseconds = self[1].integer else { return nil }
    return seconds * 1_000_000 + microseconds
  }

  /// Returns this reply, or throws the refusal if it is one.
  @discardableResult
  public func get() throws(RedisServerError) -> RedisReply {
    if let error { throw error }
    return self
  }
}

/// Elements of an array; empty for every other type.
extension RedisReply: RandomAccessCollection {
  public var startIndex: Int { 0 }
  public var endIndex: Int {
    let node = node
    return node.kind == .array ? Int(node.count) : 0
  }

  public subscript(position: Int) -> RedisReply {
    precondition(position >= 0 && position < endIndex, "A Redis array has no element \(position)")
    return RedisReply(arena: arena, index: node.value + position)
  }
}

extension RedisReply: CustomStringConvertible {
  public var description: String {
    switch kind {
    case .status: string ?? ""
    case .error: "(error) \(string ?? "")"
    case .integer: "\(node.value)"
    case .bulk: "\"\(string ?? "")\""
    case .null: "(null)"
    case .array: "[" + map(\.description).joined(separator: ", ") + "]"
    }
  }
}

extension RedisReply.Kind {
  var isText: Bool { self == .bulk || self == .status || self == .error }
}

extension Int {
  /// Parses an optional minus sign and digits, without making a String.
  init?(decimal text: UnsafeRawBufferPointer) {
    let isNegative = text.first == UInt8(ascii: "-")
    let digits = isNegative ? text.dropFirst() : text[...]
    guard !digits.isEmpty else { return nil }
    var value = 0
    for character in digits {
      guard character >= UInt8(ascii: "0"), character <= UInt8(ascii: "9") else { return nil }
      // The value is built as a negative number, because the smallest Int has no positive counterpart.
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (next, underflow) = product.subtractingReportingOverflow(Int(character - UInt8(ascii: "0")))
      guard !overflow, !underflow else { return nil }
      value = next
    }
    if !isNegative {
      guard value != .min else { return nil }
      value = -value
    }
    self = value
  }
}
