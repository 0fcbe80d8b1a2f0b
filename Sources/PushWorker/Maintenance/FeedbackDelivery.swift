import CampaignStore

/// The partitions of slices that have undelivered prunes (removals of devices whose tokens are gone). A delivery
/// applies each prune also in the partition of its token.
struct UndeliveredPrunes {
  /// Number of partitions with undelivered prunes at which the worker delivers immediately, and not only once a second.
  /// The record that names the user of a token is in the token's partition. A delivery therefore costs one script call
  /// for each partition, whatever the number of tokens.
  private static let deliveredTogether = 64

  private var partitions: Set<Int> = []

  var isEmpty: Bool { partitions.isEmpty }
  /// Whether a delivery justifies a round trip.
  var isDue: Bool { partitions.count >= Self.deliveredTogether }

  mutating func insert(_ partition: Int) { partitions.insert(partition) }

  /// Removes and returns all partitions.
  mutating func take() -> Set<Int> {
    defer { partitions = [] }
    return partitions
  }
}

/// Delivers the effects of prunes in slices that have ended.
final class FeedbackDelivery: WorkerPart {
  let environment: WorkerEnvironment
  private var undelivered = UndeliveredPrunes()

  init(_ environment: WorkerEnvironment) {
    self.environment = environment
  }

  var isIdle: Bool { undelivered.isEmpty }
  /// Whether a delivery justifies a round trip.
  var isDue: Bool { undelivered.isDue }

  /// Records a partition that may have prunes to deliver.
  func add(prunesIn partition: Int) { undelivered.insert(partition) }

  /// Delivers the prunes of all recorded partitions. After a failure, the sweep through the partitions delivers them
  /// later.
  func deliver() async {
    let partitions = undelivered.take()
    guard !partitions.isEmpty else { return }
    do {
      try await sharedStore.results.deliverFeedback(from: partitions)
    } catch {
      log.report("could not deliver feedback", error)
    }
  }
}
