import Redis

/// Progress of the import of a file: everything before the checkpoint is imported.
public struct ImportCheckpoint: Equatable, Sendable {
  /// Place of the next row, in bytes from the beginning of the file.
  public var offset: Int
  /// Line of the next row, from 1.
  public var line: Int
  /// Rows before the checkpoint, including bad rows.
  public var rows: Int
  /// Bad rows before the checkpoint.
  public var skipped: Int
  /// Rows before the checkpoint that were valid and were imported.
  public var imported: Int
  /// Rows before the checkpoint that changed nothing, because a newer registration exists.
  public var outdated: Int
  /// Devices that were evicted because their users had too many.
  public var evicted: Int
  /// Devices that are stored without a time zone, because the import refused the zone in the file.
  public var withoutZone: Int

  /// Creates a checkpoint.
  public init(
    offset: Int, line: Int, rows: Int, skipped: Int, imported: Int, outdated: Int, evicted: Int,
    withoutZone: Int = 0
  ) {
    self.offset = offset
    self.line = line
    self.rows = rows
    self.skipped = skipped
    self.imported = imported
    self.outdated = outdated
    self.evicted = evicted
    self.withoutZone = withoutZone
  }

  /// The fields in Redis.
  private static let fields: [(String, any WritableKeyPath<ImportCheckpoint, Int> & Sendable)] = [
    ("offset", \.offset), ("line", \.line), ("rows", \.rows), ("skipped", \.skipped), ("imported", \.imported),
    ("outdated", \.outdated), ("evicted", \.evicted),
  ]
  /// The field of `withoutZone`. The field is missing if the number is 0, and in checkpoints of
  /// earlier versions.
  private static let withoutZone = "withoutZone"

  /// Seconds until a checkpoint expires: a week. Operators are not expected to resume an older import.
  private static let timeToLive = 604_800
}

extension ImportCheckpoint {
  fileprivate func append(to pipeline: inout RedisPipeline, _ key: String) {
    pipeline.command("HSET") { arguments in
      arguments.append(key)
      for (name, path) in Self.fields {
        arguments.append(name)
        arguments.append(self[keyPath: path])
      }
      if withoutZone > 0 {
        arguments.append(Self.withoutZone)
        arguments.append(withoutZone)
      }
    }
    pipeline.append("EXPIRE", key, Self.timeToLive)
  }

  /// Creates a checkpoint from the reply to `HMGET`.
  /// - Returns: `nil` if a field is missing or is not a number of at least 0.
  fileprivate init?(_ reply: RedisReply) {
    self.init(offset: 0, line: 0, rows: 0, skipped: 0, imported: 0, outdated: 0, evicted: 0)
    for ((_, path), value) in zip(Self.fields, reply) {
      guard let number = value.integer, number >= 0 else { return nil }
      self[keyPath: path] = number
    }
    withoutZone = max(0, reply[Self.fields.count].integer ?? 0)
  }

  fileprivate static func read(_ key: String, with pipeline: inout RedisPipeline) {
    pipeline.command("HMGET") { arguments in
      arguments.append(key)
      for (name, _) in fields { arguments.append(name) }
      arguments.append(withoutZone)
    }
  }
}

/// Checkpoints of imports. Two imports of one file may run at the same time: the checkpoint of either is valid.
extension Registry {
  /// Stores the checkpoint of an import, for a week.
  ///
  /// - Parameter file: text that identifies the file and the options of its import.
  /// - Throws: ``StoreError`` `locked` if the store is being repartitioned. The import must be resumed later.
  public func save(_ checkpoint: ImportCheckpoint, of file: String) async throws {
    var pipeline = RedisPipeline()
    checkpoint.append(to: &pipeline, keys.importOf(file: file))
    pipeline.append("HGET", keys.store, "nextPartitions")
    if let next = try await run(pipeline).last?.integer { throw StoreError.locked(for: next) }
  }

  /// Returns the checkpoint of an interrupted import; `nil` if there is none.
  public func importCheckpoint(of file: String) async throws -> ImportCheckpoint? {
    var pipeline = RedisPipeline()
    ImportCheckpoint.read(keys.importOf(file: file), with: &pipeline)
    return ImportCheckpoint(try await run(pipeline)[0])
  }

  /// Deletes the checkpoint of an import that has ended or begins again.
  public func forgetImport(of file: String) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("DEL", keys.importOf(file: file))
    _ = try await run(pipeline)
  }
}
