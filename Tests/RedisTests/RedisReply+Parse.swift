@testable import Redis

extension RedisReply {
  /// The replies that a server's words stand for.
  static func parse(_ text: String) throws -> [RedisReply] { try parse([Array(text.utf8)]) }

  /// The same, arriving in pieces.
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
