import CHiredis

/// hiredis' protocol reader, building replies straight into a ``ReplyBuilder``: bytes in, replies out, no I/O.
///
/// Not thread-safe, like the reader itself; it belongs to one connection.
struct ReplyParser: ~Copyable {
  /// The stream is not RESP2, or exceeds a bound.
  struct Violation: Error {
    var reason: String
  }

  /// Bounds the bytes of one answer on the way: a job is 1 MB at most and batches are of hundreds of elements, so 64 MB
  /// is far above anything we ask for and far below what would hurt.
  static let maximumReplyBytes = 64 << 20

  /// hiredis frees its buffer whenever it runs empty with more than this unused (redisReaderFeed); above the size of one
  /// read of ours, so that the hot path does not allocate one per read.
  private static let keptBuffer = 256 << 10

  private let reader: UnsafeMutablePointer<redisReader>
  private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
  private let builder: UnsafeMutablePointer<ReplyBuilder>
  private var bytesOfReply = 0

  init() {
    functions = .allocate(capacity: 1)
    functions.initialize(to: .intoBuilder)
    builder = .allocate(capacity: 1)
    builder.initialize(to: ReplyBuilder())
    // Keeps the table's address until redisReaderFree (read.c), and we free the table after that.
    guard let created = redisReaderCreateWithFunctions(functions) else { fatalError("out of memory") }
    reader = created
    reader.pointee.maxbuf = Self.keptBuffer
    // Copied into every task (read.c), from where the callbacks take it; freed after the reader.
    reader.pointee.privdata = UnsafeMutableRawPointer(builder)
  }

  deinit {
    // Calls freeObject for an unfinished reply, which is why the builder goes last.
    redisReaderFree(reader)
    functions.deinitialize(count: 1)
    functions.deallocate()
    builder.deinitialize(count: 1)
    builder.deallocate()
  }

  /// Takes bytes from the wire; hiredis copies them.
  mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(Violation) {
    bytesOfReply += bytes.count
    guard bytesOfReply <= Self.maximumReplyBytes else {
      throw Violation(reason: "an answer of more than \(Self.maximumReplyBytes) bytes")
    }
    let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress
    guard redisReaderFeed(reader, start, bytes.count) == REDIS_OK else { throw violation }
  }

  /// Parses the next whole answer.
  ///
  /// - Returns: its index in the arena that ``take()`` will hand out, or `nil` when more bytes are needed.
  mutating func next() throws(Violation) -> Int? {
    if builder.pointee.isEmpty {
      builder.pointee.reserve(bytes: min(Int(reader.pointee.len) - Int(reader.pointee.pos), 4096))
    }
    var object: UnsafeMutableRawPointer?
    guard redisReaderGetReply(reader, &object) == REDIS_OK else { throw violation }
    guard let object else { return nil }
    bytesOfReply = Int(reader.pointee.len) - Int(reader.pointee.pos)
    return ReplyHandle.index(object)
  }

  /// Hands over all answers parsed since the last time. Call it between answers, that is right after ``next()`` gave one.
  mutating func take() -> ReplyArena { builder.pointee.take() }

  /// Whether a whole answer is none, but a message of a channel that was subscribed to.
  ///
  /// Source: Redis Pub/Sub, "Format of pushed messages".
  func isMessage(_ root: Int) -> Bool { builder.pointee.isArray(root, of: 3, beginningWith: "message") }

  private var violation: Violation {
    if reader.pointee.err == REDIS_ERR_OOM {
      return Violation(reason: "an array of more than \(ReplyBuilder.maximumElements) elements")
    }
    return Violation(reason: String(cString: chiredis_reader_error(reader)))
  }
}

/// What hiredis takes for a pointer to a reply is the reply's index plus one: only null has a meaning to it (read.c).
private enum ReplyHandle {
  static func pointer(_ index: Int?) -> UnsafeMutableRawPointer? {
    index.flatMap { UnsafeMutableRawPointer(bitPattern: $0 + 1) }
  }

  static func index(_ pointer: UnsafeMutableRawPointer) -> Int { Int(bitPattern: pointer) - 1 }
}

extension UnsafePointer<redisReadTask> {
  /// The builder that ``ReplyParser`` set as private data. hiredis calls back only inside redisReaderGetReply, on the
  /// thread and within the lifetime of the parser.
  fileprivate var builder: UnsafeMutablePointer<ReplyBuilder>? {
    pointee.privdata?.assumingMemoryBound(to: ReplyBuilder.self)
  }

  /// The array that this element belongs to; `nil` for a reply of its own.
  fileprivate var parent: Int? { pointee.parent?.pointee.obj.map(ReplyHandle.index) }

  fileprivate var position: Int { Int(pointee.idx) }

  fileprivate var textKind: RedisReply.Kind {
    switch pointee.type {
    case REDIS_REPLY_STATUS: .status
    case REDIS_REPLY_ERROR: .error
    default: .bulk
    }
  }
}

extension redisReplyObjectFunctions {
  /// Closures, not named functions: the type of an element count differs between hiredis 0.14 and 1.x, and is inferred.
  /// A null result means out of memory to hiredis (read.c), and ends the stream.
  fileprivate static var intoBuilder: redisReplyObjectFunctions {
    var table = redisReplyObjectFunctions()
    table.createString = { task, text, length in
      guard let task, let builder = task.builder else { return nil }
      let bytes = UnsafeRawBufferPointer(start: text, count: Int(length))
      return ReplyHandle.pointer(
        builder.pointee.addText(bytes, kind: task.textKind, parent: task.parent, position: task.position))
    }
    table.createArray = { task, count in
      guard let task, let builder = task.builder else { return nil }
      return ReplyHandle.pointer(
        builder.pointee.addArray(count: Int(count), parent: task.parent, position: task.position))
    }
    table.createInteger = { task, value in
      guard let task, let builder = task.builder else { return nil }
      return ReplyHandle.pointer(builder.pointee.addInteger(value, parent: task.parent, position: task.position))
    }
    table.createNil = { task in
      guard let task, let builder = task.builder else { return nil }
      return ReplyHandle.pointer(builder.pointee.addNull(parent: task.parent, position: task.position))
    }
    table.freeObject = { _ in }
    return table
  }
}
