import Redis

/// How far the import of a file has come: everything before it is in.
public struct ImportCheckpoint: Equatable, Sendable {
  /// Where the next row begins, in bytes from the beginning of the file.
  public var offset: Int
  /// The line it begins on, from 1.
  public var line: Int
  /// Rows before it, bad ones too.
  public var rows: Int
  /// Bad rows before it.
  public var skipped: Int
  /// Rows before it that stood when they were in.
  public var imported: Int
  /// Rows before it that changed nothing, because a newer registration stands.
  public var outdated: Int
  /// Devices that left because their users had too many.
  public var crowdedOut: Int
  /// Devices that are kept without a time zone, because theirs was refused.
  public var withoutZone: Int

  /// Memberwise.
  public init(
    offset: Int, line: Int, rows: Int, skipped: Int, imported: Int, outdated: Int, crowdedOut: Int,
    withoutZone: Int = 0
  ) {
    self.offset = offset
    self.line = line
    self.rows = rows
    self.skipped = skipped
    self.imported = imported
    self.outdated = outdated
    self.crowdedOut = crowdedOut
    self.withoutZone = withoutZone
  }

  /// Its fields in Redis.
  private static let fields: [(String, any WritableKeyPath<ImportCheckpoint, Int> & Sendable)] = [
    ("offset", \.offset), ("line", \.line), ("rows", \.rows), ("skipped", \.skipped), ("imported", \.imported),
    ("outdated", \.outdated), ("crowdedOut", \.crowdedOut),
  ]
  /// A field that a checkpoint without such a device leaves out, as one of an earlier version does.
  private static let withoutZone = "withoutZone"

  /// Seconds after which nobody is expected to go on any more: a week.
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

  /// - Returns: `nil` when one is missing, or is no number that can be right.
  fileprivate init?(_ reply: RedisReply) {
    self.init(offset: 0, line: 0, rows: 0, skipped: 0, imported: 0, outdated: 0, crowdedOut: 0)
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

/// How far imports have come. Two imports of one file may be under way: what either of them says is true.
extension Registry {
  /// Keeps how far an import has come, for a week.
  ///
  /// - Parameter file: what tells the file, and how it is read, from all others.
  /// - Throws: ``StoreError`` `held` when the import has to be gone on with later.
  public func keep(_ checkpoint: ImportCheckpoint, of file: String) async throws {
    var pipeline = RedisPipeline()
    checkpoint.append(to: &pipeline, keys.importOf(file: file))
    pipeline.append("HGET", keys.store, "nextPartitions")
    if let next = try await run(pipeline).last?.integer { throw StoreError.held(for: next) }
  }

  /// How far an import had come; `nil` when none was interrupted.
  public func importCheckpoint(of file: String) async throws -> ImportCheckpoint? {
    var pipeline = RedisPipeline()
    ImportCheckpoint.read(keys.importOf(file: file), with: &pipeline)
    return ImportCheckpoint(try await run(pipeline)[0])
  }

  /// Forgets how far an import had come: it has ended, or begins anew.
  public func forgetImport(of file: String) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("DEL", keys.importOf(file: file))
    _ = try await run(pipeline)
  }
}
