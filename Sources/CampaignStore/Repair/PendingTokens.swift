import Redis

/// The tokens of the registrations in progress in a partition, according to their notes (``RegistrationNote``).
///
/// The content of a note never changes, so each note is read once in a pass of the check. A crash of an import leaves
/// thousands of notes. Reading all of them for every page of tokens would be quadratic work.
final class PendingTokens {
  private let store: CampaignStore
  private let key: String
  /// For each token, the names of the notes that contain it.
  private var names: [[UInt8]: [[UInt8]]] = [:]
  private var read: Set<[UInt8]> = []
  /// The notes that existed at the last update.
  private(set) var current: Set<[UInt8]> = []

  init(of partition: Int, in store: CampaignStore) {
    self.store = store
    key = store.keys.moving(partition)
  }

  /// Reads the notes that are new since the last update.
  ///
  /// - Parameter standing: reply to `HKEYS` of the hash with the notes.
  func update(_ standing: RedisReply) async throws {
    current = Set(standing.compactMap { $0.bytes.map(Array.init) })
    let new = current.subtracting(read).sorted { $0.lexicographicallyPrecedes($1) }
    for start in stride(from: 0, to: new.count, by: Registry.notesPerBatch) {
      let page = new[start..<min(start + Registry.notesPerBatch, new.count)]
      var pipeline = RedisPipeline()
      for name in page { pipeline.append("HGET", key, name) }
      for (name, value) in zip(page, try await store.run(pipeline)) {
        read.insert(name)
        for token in RegistrationNote(name: name, value: value).tokens { names[token, default: []].append(name) }
      }
    }
  }

  func contains(_ token: [UInt8]) -> Bool { names[token]?.contains { current.contains($0) } ?? false }
}

/// The tokens of pruned devices that the owner index still has, by partition. Their notices are in the outbox of the
/// partition, and their delivery removes the tokens from the index.
///
/// After a crash an outbox may be long, and the check of every page of tokens needs it. It is therefore read again only
/// if it has changed.
final class UndeliveredTokens {
  /// Identifies the content of an outbox, which grows at its end and shrinks from its beginning.
  private struct Stamp: Equatable {
    var length: Int
    var first: [UInt8]
  }

  private let store: CampaignStore
  private var known: [Int: (stamp: Stamp, tokens: Set<[UInt8]>)] = [:]

  init(in store: CampaignStore) { self.store = store }

  func tokens(in partition: Int) async throws -> Set<[UInt8]> {
    var pipeline = RedisPipeline()
    pipeline.append("LLEN", store.keys.outbox(partition))
    pipeline.append("LRANGE", store.keys.outbox(partition), 0, 0)
    let replies = try await store.run(pipeline)
    let stamp = Stamp(length: replies[0].integer ?? 0, first: replies[1].first?.bytes.map(Array.init) ?? [])
    if let known = known[partition], known.stamp == stamp { return known.tokens }
    let tokens = try await store.repair.undelivered(in: partition)
    known[partition] = (stamp, tokens)
    return tokens
  }
}
