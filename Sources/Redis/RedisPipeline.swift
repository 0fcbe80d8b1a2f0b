/// Commands that go to Redis together, written into one buffer, and are answered together in their order.
///
///     var pipeline = RedisPipeline()
///     pipeline.append("SET", key, value)
///     pipeline.command("HSET") {
///       $0.append(key)
///       for (field, value) in fields { $0.append(field); $0.append(value) }
///     }
///     pipeline.script(commit, keys: [ledger, results]) { $0.append(records) }
///     let replies = try await client.execute(pipeline)
///
/// Other callers' commands may run between those of a pipeline. `MULTI`, `SUBSCRIBE` (see ``RedisSubscriber``) and `HELLO 3`
/// don't belong here.
public struct RedisPipeline: Sendable {
  /// A call of a script, whose SHA-1 only the connection knows: the server computes it when it loads the script.
  struct ScriptCall: Sendable {
    var script: RedisScript
    /// Which command of the pipeline it is.
    var position: Int
    /// Where the command stands in the buffer.
    var range: Range<Int>
    /// Where in the buffer the 40 hex digits are filled in.
    var hash: Int
  }

  static let hashLength = 40

  private(set) var arguments = RedisArguments()
  private(set) var scriptCalls: [ScriptCall] = []

  /// How many commands there are, and how many replies there will be.
  public private(set) var count = 0

  /// - Parameter capacity: bytes to reserve at once.
  public init(reserving capacity: Int = 256) {
    arguments.bytes.reserveCapacity(capacity)
  }

  /// Whether there is no command.
  public var isEmpty: Bool { count == 0 }

  /// How many bytes go over the wire.
  public var byteCount: Int { arguments.bytes.count }

  var bytes: [UInt8] { arguments.bytes }

  /// Appends a command with arguments of any types.
  public mutating func append<each Argument: RedisArgument>(_ name: StaticString, _ argument: repeat each Argument) {
    let start = arguments.begin()
    name.append(to: &arguments)
    repeat (each argument).append(to: &arguments)
    arguments.end(start)
    count += 1
  }

  /// Appends a command whose arguments `body` writes.
  public mutating func command(_ name: StaticString, _ body: (inout RedisArguments) -> Void) {
    let start = arguments.begin()
    name.append(to: &arguments)
    body(&arguments)
    arguments.end(start)
    count += 1
  }

  /// Appends a call of a script, whose arguments `body` writes.
  ///
  /// Should the server have lost the script, it is loaded and run again within the same call: then the script runs after
  /// later commands of the pipeline that did succeed, and in order with the other lost ones.
  ///
  /// - Parameters:
  ///   - script: what to run.
  ///   - keys: every key that it touches (`KEYS`), all of one slot.
  ///   - body: writes the rest (`ARGV`).
  public mutating func script(
    _ script: RedisScript, keys: [some RedisArgument], arguments body: (inout RedisArguments) -> Void = { _ in }
  ) {
    let start = arguments.begin()
    arguments.append("EVALSHA" as StaticString)
    arguments.append(Self.unknownHash)
    // The placeholder is the last argument so far: it ends before its line end.
    let hash = arguments.bytes.count - 2 - Self.hashLength
    arguments.append(decimal: UInt64(keys.count))
    for key in keys { arguments.append(key) }
    body(&arguments)
    let moved = arguments.end(start)
    scriptCalls.append(
      ScriptCall(script: script, position: count, range: start..<arguments.bytes.count, hash: hash + moved))
    count += 1
  }

  /// Appends command by command what another pipeline holds.
  public mutating func append(_ other: RedisPipeline) {
    let offset = arguments.bytes.count
    arguments.bytes.append(contentsOf: other.arguments.bytes)
    for var call in other.scriptCalls {
      call.position += count
      call.range = (call.range.lowerBound + offset)..<(call.range.upperBound + offset)
      call.hash += offset
      scriptCalls.append(call)
    }
    count += other.count
  }

  /// Forgets the commands but keeps the memory.
  public mutating func removeAll() {
    arguments.bytes.removeAll(keepingCapacity: true)
    scriptCalls.removeAll(keepingCapacity: true)
    count = 0
  }

  /// Fills in the hash of one call.
  mutating func fill(_ call: ScriptCall, with hash: [UInt8]) {
    arguments.bytes.replaceSubrange(call.hash..<(call.hash + Self.hashLength), with: hash)
  }

  /// Appends a command that stands in `other` already, hash and all.
  mutating func copy(_ call: ScriptCall, from other: RedisPipeline) {
    arguments.bytes.append(contentsOf: other.arguments.bytes[call.range])
    count += 1
  }

  private static let unknownHash: StaticString = "0000000000000000000000000000000000000000"
}
