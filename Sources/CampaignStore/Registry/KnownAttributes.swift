import PushCore
import Redis

/// The attribute names found in the store.
public struct KnownAttributes: Sendable, Equatable {
  /// The names that were asked for and that none of the users has, sorted.
  public var missing: [String] = []
  /// Names that the users have, sorted; at most ``mostNames``.
  public var names: [String] = []
  /// How many users with attributes were examined.
  public var examined = 0
  /// Whether these were all users with attributes.
  public var isComplete = true

  /// Names that are remembered for suggestions: a job can ask for 64, and a user has 64 at most.
  static let mostNames = 1000
}

extension Registry {
  /// Users whose attributes are examined before a name counts as missing. Reading so many takes some tenths of a second, and
  /// an attribute of one user in a thousand is found among them all the same.
  public static let mostExamined = 20_000
  /// Partitions that are read in one round trip, and users of each: some 100 kB.
  private static let attributePartitions = 16
  private static let attributeUsers = 50

  /// Looks among the users for attributes of these names. It ends when all are found, so it is cheap for a right name.
  ///
  /// - Parameters:
  ///   - names: those that a job asks for.
  ///   - most: users that are examined at most.
  public func knownAttributes(_ names: Set<String>, most: Int = mostExamined) async throws -> KnownAttributes {
    var result = KnownAttributes()
    guard !names.isEmpty else { return result }
    var missing = names
    var known: Set<String> = []
    var open = (0..<keys.partitions).map { (partition: $0, cursor: "0") }[...]
    while !open.isEmpty, !missing.isEmpty {
      guard result.examined < most else {
        result.isComplete = false
        break
      }
      let pages = open.prefix(Self.attributePartitions)
      open = open.dropFirst(pages.count)
      var pipeline = RedisPipeline()
      for page in pages {
        pipeline.append("HSCAN", keys.attributes(page.partition), page.cursor, "COUNT", Self.attributeUsers)
      }
      for (page, reply) in zip(pages, try await run(pipeline)) {
        // The largest tables come back again: the pages of all partitions take turns.
        if let cursor = reply[0].string, cursor != "0" { open.append((page.partition, cursor)) }
        let pairs = reply[1]
        for place in stride(from: 1, to: pairs.count, by: 2) {
          guard let stored = pairs[place].bytes else { continue }
          result.examined += 1
          for name in UserAttributes.names(stored: Array(stored)) {
            missing.remove(name)
            if known.count < KnownAttributes.mostNames { known.insert(name) }
          }
        }
      }
    }
    result.missing = missing.sorted()
    result.names = known.sorted()
    return result
  }
}
