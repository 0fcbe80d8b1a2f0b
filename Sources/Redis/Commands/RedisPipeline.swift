/// Pipeline: commands that are sent to Redis together in one buffer, with their answers in the same order.
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
/// Commands of other callers may run between those of a pipeline. `MULTI`, `SUBSCRIBE` (see ``RedisSubscriber``) and
/// `HELLO 3` must not be used here.
public struct RedisPipeline: Sendable {
  /// Call of a script. The call names the script by its SHA-1, which only the connection knows: the server computes it
  /// when it loads the script.
  struct ScriptCall: Sendable {
    var script: RedisScript
    /// Position of the command in the pipeline.
    var position: Int
    /// Offset in the buffer at which the connection writes the 40 hex digits of the SHA-1.
    var hash: Int

    fileprivate func moved(by offset: Int, to position: Int) -> ScriptCall {
      ScriptCall(script: script, position: position, hash: hash + offset)
    }
  }

  static let hashLength = 40

  private(set) var arguments = RedisArguments()
  private(set) var scriptCalls: [ScriptCall] = []

  /// Offset of each command in the buffer.
  private(set) var starts: [Int] = []

  /// Number of commands, which is also the number of replies.
  public var count: Int { starts.count }

  /// - Parameter capacity: number of bytes to reserve.
  public init(reserving capacity: Int = 256) {
    arguments.bytes.reserveCapacity(capacity)
  }

  /// Whether the pipeline has no commands.
  public var isEmpty: Bool { count == 0 }

  var bytes: [UInt8] { arguments.bytes }

  /// Appends a command with arguments of any types.
  public mutating func append<each Argument: RedisArgument>(_ name: StaticString, _ argument: repeat each Argument) {
    let start = arguments.begin()
    name.append(to: &arguments)
    repeat (each argument).append(to: &arguments)
    arguments.end(start)
    starts.append(start)
  }

  /// Appends a command with arguments that `body` writes.
  public mutating func command(_ name: StaticString, _ body: (inout RedisArguments) -> Void) {
    let start = arguments.begin()
    name.append(to: &arguments)
    body(&arguments)
    arguments.end(start)
    starts.append(start)
  }

  /// Appends a call of a script with arguments that `body` writes.
  ///
  /// If the server has lost the script, the connection loads it and runs it again within the same call. In that case,
  /// the script runs after the later commands of the pipeline. Several lost scripts run in their order.
  ///
  /// - Parameters:
  ///   - script: the script to run.
  ///   - keys: all keys that the script uses (`KEYS`), all in one slot.
  ///   - body: writes the other arguments (`ARGV`).
  public mutating func script(
    _ script: RedisScript, keys: [some RedisArgument], arguments body: (inout RedisArguments) -> Void = { _ in }
  ) {
    let start = arguments.begin()
    arguments.append("EVALSHA" as StaticString)
    arguments.append(Self.unknownHash)
    // The placeholder for the SHA-1 is the last argument so far, followed by its line end.
    let hash = arguments.bytes.count - 2 - Self.hashLength
    arguments.append(decimal: UInt64(keys.count))
    for key in keys { arguments.append(key) }
    body(&arguments)
    let moved = arguments.end(start)
    scriptCalls.append(
      ScriptCall(script: script, position: count, hash: hash + moved))
    starts.append(start)
  }

  /// Appends all commands of another pipeline.
  public mutating func append(_ other: RedisPipeline) {
    let offset = arguments.bytes.count
    arguments.bytes.append(contentsOf: other.arguments.bytes)
    for call in other.scriptCalls { scriptCalls.append(call.moved(by: offset, to: call.position + count)) }
    for start in other.starts { starts.append(start + offset) }
  }

  /// Appends one command of another pipeline.
  mutating func append(_ position: Int, of other: RedisPipeline) {
    let range = other.range(of: position)
    let offset = arguments.bytes.count - range.lowerBound
    arguments.bytes.append(contentsOf: other.arguments.bytes[range])
    if let call = other.scriptCall(at: position) { scriptCalls.append(call.moved(by: offset, to: count)) }
    starts.append(range.lowerBound + offset)
  }

  private func range(of position: Int) -> Range<Int> {
    starts[position]..<(position + 1 < starts.count ? starts[position + 1] : arguments.bytes.count)
  }

  /// Returns the script that a command calls; `nil` for any other command.
  private func scriptCall(at position: Int) -> ScriptCall? {
    // The calls are in the order of their positions.
    var (low, high) = (0, scriptCalls.count)
    while low < high {
      let middle = (low + high) / 2
      if scriptCalls[middle].position < position { low = middle + 1 } else { high = middle }
    }
    return low < scriptCalls.count && scriptCalls[low].position == position ? scriptCalls[low] : nil
  }

  /// Removes all commands but keeps the memory.
  public mutating func removeAll() {
    arguments.bytes.removeAll(keepingCapacity: true)
    scriptCalls.removeAll(keepingCapacity: true)
    starts.removeAll(keepingCapacity: true)
  }

  /// Writes the SHA-1 of the script of one call.
  mutating func fill(_ call: ScriptCall, with hash: [UInt8]) {
    arguments.bytes.replaceSubrange(call.hash..<(call.hash + Self.hashLength), with: hash)
  }

  /// Appends a command of `other`, with the SHA-1 if it calls a script.
  mutating func copy(_ position: Int, from other: RedisPipeline) {
    starts.append(arguments.bytes.count)
    arguments.bytes.append(contentsOf: other.arguments.bytes[other.range(of: position)])
  }

  /// Returns whether a command is `ASKING`, which makes a server run the next command for a slot that is moving to it.
  func isAsking(_ position: Int) -> Bool { arguments.bytes[range(of: position)].elementsEqual(Self.asking) }

  private static let asking = Array("*1\r\n$6\r\nASKING\r\n".utf8)

  private static let unknownHash: StaticString = "0000000000000000000000000000000000000000"
}
