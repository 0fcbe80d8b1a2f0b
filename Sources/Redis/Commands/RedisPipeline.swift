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
    /// Where in the buffer the 40 hex digits are filled in.
    var hash: Int

    fileprivate func moved(by offset: Int, to position: Int) -> ScriptCall {
      ScriptCall(script: script, position: position, hash: hash + offset)
    }
  }

  static let hashLength = 40

  private(set) var arguments = RedisArguments()
  private(set) var scriptCalls: [ScriptCall] = []

  /// Where each command begins in the buffer.
  private(set) var starts: [Int] = []

  /// How many commands there are, and how many replies there will be.
  public var count: Int { starts.count }

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
    starts.append(start)
  }

  /// Appends a command whose arguments `body` writes.
  public mutating func command(_ name: StaticString, _ body: (inout RedisArguments) -> Void) {
    let start = arguments.begin()
    name.append(to: &arguments)
    body(&arguments)
    arguments.end(start)
    starts.append(start)
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
      ScriptCall(script: script, position: count, hash: hash + moved))
    starts.append(start)
  }

  /// Appends command by command what another pipeline holds.
  public mutating func append(_ other: RedisPipeline) {
    let offset = arguments.bytes.count
    arguments.bytes.append(contentsOf: other.arguments.bytes)
    for call in other.scriptCalls { scriptCalls.append(call.moved(by: offset, to: call.position + count)) }
    for start in other.starts { starts.append(start + offset) }
  }

  /// Appends one command that another pipeline holds.
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

  /// The script that a command calls; `nil` for any other command.
  private func scriptCall(at position: Int) -> ScriptCall? {
    // They stand in the order of their positions.
    var (low, high) = (0, scriptCalls.count)
    while low < high {
      let middle = (low + high) / 2
      if scriptCalls[middle].position < position { low = middle + 1 } else { high = middle }
    }
    return low < scriptCalls.count && scriptCalls[low].position == position ? scriptCalls[low] : nil
  }

  /// Forgets the commands but keeps the memory.
  public mutating func removeAll() {
    arguments.bytes.removeAll(keepingCapacity: true)
    scriptCalls.removeAll(keepingCapacity: true)
    starts.removeAll(keepingCapacity: true)
  }

  /// Fills in the hash of one call.
  mutating func fill(_ call: ScriptCall, with hash: [UInt8]) {
    arguments.bytes.replaceSubrange(call.hash..<(call.hash + Self.hashLength), with: hash)
  }

  /// Appends a command that stands in `other` already, hash and all.
  mutating func copy(_ position: Int, from other: RedisPipeline) {
    starts.append(arguments.bytes.count)
    arguments.bytes.append(contentsOf: other.arguments.bytes[other.range(of: position)])
  }

  /// Whether a command is the `ASKING` that lets a server answer for a key that has just arrived.
  func isAsking(_ position: Int) -> Bool { arguments.bytes[range(of: position)].elementsEqual(Self.asking) }

  private static let asking = Array("*1\r\n$6\r\nASKING\r\n".utf8)

  private static let unknownHash: StaticString = "0000000000000000000000000000000000000000"
}
