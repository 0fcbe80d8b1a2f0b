/// Slots of a cluster whose move was not finished.
enum OpenSlots {
  /// Parses the line of the answering server in its `CLUSTER NODES`. Only this server knows which slots it moves.
  ///
  /// Source: Redis documentation, CLUSTER NODES: `[93-<-ID]` is being imported, `[77->-ID]` is being migrated.
  static func read(_ text: String) -> [Int] {
    guard let own = text.split(whereSeparator: \.isNewline).first(where: { $0.contains("myself") }) else { return [] }
    return own.split(separator: " ").dropFirst(8).compactMap { word in
      guard word.hasPrefix("["), word.contains("-<-") || word.contains("->-") else { return nil }
      return Int(word.dropFirst().prefix { $0.isNumber })
    }
  }
}

extension RedisClient {
  /// Returns the slots of a cluster whose move was not finished, each once; empty without a cluster.
  ///
  /// - Throws: `RedisServerError` if the user has no permission.
  public func openSlots() async throws -> [Int] {
    guard case .cluster(let cluster) = servers else { return [] }
    return Array(Set(try await cluster.nodes().flatMap(OpenSlots.read))).sorted()
  }
}
