/// The cluster slots of the commands in a pipeline, by which a client of a cluster chooses the server for each command.
extension RedisPipeline {
  /// Commands that have no key, because they concern a server or a channel.
  private static let keyless: Set<String> = [
    "ACL", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "DBSIZE", "DEBUG", "ECHO", "FLUSHALL", "FLUSHDB", "INFO", "KEYS",
    "LASTSAVE", "LATENCY", "PING", "PUBLISH", "PUBSUB", "ROLE", "SCAN", "SCRIPT", "SLOWLOG", "TIME", "WAIT",
  ]

  /// Returns the slot of each command: the slot of its first key. A command without a key has the slot of the previous
  /// command.
  ///
  /// All keys of a command must be in one slot, or Redis refuses the command (`CROSSSLOT`).
  ///
  /// - Parameter home: the slot for commands without a key, if no command with a key precedes them.
  func slots(home: KeySlot) -> [KeySlot] {
    var last = home
    return bytes.withUnsafeBytes { bytes in
      starts.map { start in
        var words = Words(bytes, from: start)
        if let key = Self.key(in: &words) { last = KeySlot(of: key) }
        return last
      }
    }
  }

  private static func key(in words: inout Words) -> UnsafeRawBufferPointer? {
    guard let name = words.next() else { return nil }
    if name.elementsEqual("EVALSHA".utf8) || name.elementsEqual("EVAL".utf8) {
      guard words.next() != nil, let count = words.next(), !count.elementsEqual("0".utf8) else { return nil }
      return words.next()
    }
    let text = String(decoding: name, as: UTF8.self)
    guard !keyless.contains(text) else { return nil }
    if text == "OBJECT" || text == "MEMORY" || text == "BITOP" { _ = words.next() }
    return words.next()
  }

  /// Iterator over the words of a command.
  private struct Words {
    private let bytes: UnsafeRawBufferPointer
    private var position: Int
    private var left: Int

    init(_ bytes: UnsafeRawBufferPointer, from start: Int) {
      self.bytes = bytes
      position = start
      left = 0
      left = number()
    }

    mutating func next() -> UnsafeRawBufferPointer? {
      guard left > 0 else { return nil }
      left -= 1
      let length = number()
      defer { position += length + 2 }
      return UnsafeRawBufferPointer(rebasing: bytes[position..<(position + length)])
    }

    /// Reads a line such as `$12`.
    private mutating func number() -> Int {
      var number = 0
      position += 1
      while bytes[position] != UInt8(ascii: "\r") {
        number = number * 10 + Int(bytes[position] - UInt8(ascii: "0"))
        position += 1
      }
      position += 2
      return number
    }
  }
}
