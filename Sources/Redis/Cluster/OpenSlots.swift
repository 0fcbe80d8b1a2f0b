/// Slots of a cluster that were left open: on their way from one server to another, and not there.
enum OpenSlots {
  /// Reads what one server says of itself in `CLUSTER NODES`: it alone knows what it moves.
  ///
  /// Source: Redis documentation, CLUSTER NODES: `[93-<-ID]` is being imported, `[77->-ID]` on its way.
  static func read(_ text: String) -> [Int] {
    guard let own = text.split(whereSeparator: \.isNewline).first(where: { $0.contains("myself") }) else { return [] }
    return own.split(separator: " ").dropFirst(8).compactMap { word in
      guard word.hasPrefix("["), word.contains("-<-") || word.contains("->-") else { return nil }
      return Int(word.dropFirst().prefix { $0.isNumber })
    }
  }
}

extension RedisClient {
  /// The slots that servers of a cluster have open, each once; none of what is no cluster.
  ///
  /// - Throws: `RedisServerError` where the user may not ask.
  public func openSlots() async throws -> [Int] {
    guard case .cluster(let cluster) = servers else { return [] }
    return Array(Set(try await cluster.nodes().flatMap(OpenSlots.read))).sorted()
  }
}
