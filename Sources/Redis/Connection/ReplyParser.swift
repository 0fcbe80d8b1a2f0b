import CHiredis

/// Parser for Redis' answers. It wraps the protocol reader of hiredis, and builds the replies directly in a
/// ``ReplyBuilder``. Bytes in, replies out, no I/O.
///
/// Not thread-safe, like hiredis' reader. Each connection has its own parser.
struct ReplyParser: ~Copyable {
  /// Error for a stream that is not RESP2, or exceeds a limit.
  struct Violation: Error {
    var reason: String
  }

  /// Maximum number of bytes of one answer. A job has at most 1 MiB, and batches have hundreds of elements. 64 MiB are
  /// far more than any answer to Carillon needs, and far less than a harmful amount of memory.
  static let maximumReplyBytes = 64 << 20

  /// When hiredis' buffer is empty and has more unused bytes than this, hiredis frees the buffer (redisReaderFeed). The
  /// value is above the size of one read, so that hiredis does not allocate a buffer for every read.
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
    // The reader keeps the table's address until redisReaderFree (read.c); the table is freed after that.
    guard let created = redisReaderCreateWithFunctions(functions) else { fatalError("out of memory") }
    reader = created
    reader.pointee.maxbuf = Self.keptBuffer
    // The pointer is copied into every task (read.c), where the callbacks read it; it is freed after the reader.
    reader.pointee.privdata = UnsafeMutableRawPointer(builder)
  }

  deinit {
    // redisReaderFree calls freeObject for an unfinished reply, so the builder is freed last.
    redisReaderFree(reader)
    functions.deinitialize(count: 1)
    functions.deallocate()
    builder.deinitialize(count: 1)
    builder.deallocate()
  }

  /// Feeds received bytes to hiredis, which copies them.
  mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(Violation) {
    bytesOfReply += bytes.count
    guard bytesOfReply <= Self.maximumReplyBytes else {
      throw Violation(reason: "an answer of more than \(Self.maximumReplyBytes) bytes")
    }
    let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress
    guard redisReaderFeed(reader, start, bytes.count) == REDIS_OK else { throw violation }
  }

  /// Parses the next complete answer.
  ///
  /// - Returns: the index of the answer in the arena that ``take()`` will return; `nil` if more bytes are needed.
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

  /// Returns all answers that were parsed since the last call. Call it between answers, immediately after ``next()``
  /// has returned one.
  mutating func take() -> ReplyArena { builder.pointee.take() }

  /// Returns whether a complete answer is a message of a subscribed channel.
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

/// Conversion of reply indexes to the pointers that hiredis handles. The pointer is the index plus one, because hiredis
/// only checks whether a pointer is null (read.c).
private enum ReplyHandle {
  static func pointer(_ index: Int?) -> UnsafeMutableRawPointer? {
    index.flatMap { UnsafeMutableRawPointer(bitPattern: $0 + 1) }
  }

  static func index(_ pointer: UnsafeMutableRawPointer) -> Int { Int(bitPattern: pointer) - 1 }
}

extension UnsafePointer<redisReadTask> {
  /// Builder that ``ReplyParser`` set as private data. hiredis calls back only inside redisReaderGetReply, on the
  /// thread and within the lifetime of the parser.
  fileprivate var builder: UnsafeMutablePointer<ReplyBuilder>? {
    pointee.privdata?.assumingMemoryBound(to: ReplyBuilder.self)
  }

  /// Array that contains this element; `nil` for a top-level reply.
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
  /// Callbacks of the reader. They are closures, not named functions: the type of an element count differs between
  /// hiredis 0.14 and 1.x, so the compiler must infer it. If a callback returns null, hiredis assumes that memory is
  /// full (read.c), and the stream ends.
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
