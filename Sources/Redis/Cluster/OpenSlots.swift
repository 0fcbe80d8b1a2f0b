/// Slots of a cluster whose migration was begun and not completed.
enum OpenSlots {
  /// Returns the open slots in the answer to `CLUSTER NODES`, from the line of the server that answered. Only this
  /// server knows which slots it moves.
  ///
  /// Source: Redis documentation, CLUSTER NODES: `[93-<-ID]` means that the slot is being imported, `[77->-ID]` that it
  /// is being migrated.
  static func read(_ text: String) -> [Int] {
    guard let own = text.split(whereSeparator: \.isNewline).first(where: { $0.contains("myself") }) else { return [] }
    return own.split(separator: " ").dropFirst(8).compactMap { word in
      guard word.hasPrefix("["), word.contains("-<-") || word.contains("->-") else { return nil }
      return Int(word.dropFirst().prefix { $0.isNumber })
    }
  }
}

extension RedisClient {
  /// Returns the slots of a cluster whose migration was not completed, each once; empty if the servers are not a
  /// cluster.
  ///
  /// - Throws: `RedisServerError` if the user has no permission.
  public func openSlots() async throws -> [Int] {
    guard case .cluster(let cluster) = servers else { return [] }
    return Array(Set(try await cluster.nodes().flatMap(OpenSlots.read))).sorted()
  }
}
