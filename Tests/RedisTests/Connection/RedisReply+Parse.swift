@testable import Redis

extension RedisReply {
  /// Returns the replies in a text.
  static func parse(_ text: String) throws -> [RedisReply] { try parse([Array(text.utf8)]) }

  /// Returns the replies in a text that arrives in chunks.
  static func parse(_ chunks: [[UInt8]]) throws -> [RedisReply] {
    var parser = ReplyParser()
    var roots: [Int] = []
    for chunk in chunks {
      try chunk.withUnsafeBytes { try parser.feed($0) }
      while let root = try parser.next() { roots.append(root) }
    }
    let arena = parser.take()
    return roots.map { RedisReply(arena: arena, index: $0) }
  }
}
