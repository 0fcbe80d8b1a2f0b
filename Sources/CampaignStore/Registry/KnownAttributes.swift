import PushCore
import Redis

/// The attribute names found in the store, to report misspelled names in a job.
public struct KnownAttributes: Sendable, Equatable {
  /// The requested names that none of the users has, sorted.
  public var missing: [String] = []
  /// Names that the users have, sorted; at most ``maximumNames``.
  public var names: [String] = []
  /// Number of examined users with attributes.
  public var examined = 0
  /// Whether all users with attributes were examined.
  public var isComplete = true

  /// Largest number of names that are collected for suggestions. A job can name 64, and a user has at most 64.
  static let maximumNames = 1000
}

extension Registry {
  /// Number of examined users without the attribute after which its name counts as missing. Reading them takes some
  /// tenths of a second. The search still finds an attribute that one user in a thousand has.
  public static let maximumExamined = 20_000
  /// Number of partitions that are read in a round trip, and number of users that are read of each partition. A round
  /// trip reads about 100 kB.
  private static let attributePartitions = 16
  private static let attributeUsers = 50

  /// Searches the users for attributes with these names. The search ends when all names are found, so it is cheap for
  /// existing names.
  ///
  /// - Parameters:
  ///   - names: the attributes that a job names.
  ///   - most: largest number of examined users.
  public func knownAttributes(_ names: Set<String>, most: Int = maximumExamined) async throws -> KnownAttributes {
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
        // A partition with more pages goes to the end of the queue, so that the search reads all partitions in turn.
        if let cursor = reply[0].string, cursor != "0" { open.append((page.partition, cursor)) }
        let pairs = reply[1]
        for place in stride(from: 1, to: pairs.count, by: 2) {
          guard let stored = pairs[place].bytes else { continue }
          result.examined += 1
          for name in UserAttributes.names(stored: Array(stored)) {
            missing.remove(name)
            if known.count < KnownAttributes.maximumNames { known.insert(name) }
          }
        }
      }
    }
    result.missing = missing.sorted()
    result.names = known.sorted()
    return result
  }
}
