import CampaignStore

/// Partitions with prunes of which the devices' partitions have yet to hear. Pure.
struct UndeliveredPrunes {
  /// Partitions after which a delivery is worth a round trip, if a second has not passed before. The store notes the owner of a
  /// token in the token's partition, which costs one script however many of the tokens are the owner's.
  private static let deliveredTogether = 64

  private var partitions: Set<Int> = []

  var isEmpty: Bool { partitions.isEmpty }
  /// Whether a delivery is worth a round trip.
  var isDue: Bool { partitions.count >= Self.deliveredTogether }

  mutating func insert(_ partition: Int) { partitions.insert(partition) }

  /// Removes and returns all partitions.
  mutating func take() -> Set<Int> {
    defer { partitions = [] }
    return partitions
  }
}

/// Delivers what the prunes of slices that have ended entail.
final class FeedbackDelivery: WorkerPart {
  let environment: WorkerEnvironment
  private var undelivered = UndeliveredPrunes()

  init(_ environment: WorkerEnvironment) {
    self.environment = environment
  }

  var isIdle: Bool { undelivered.isEmpty }
  /// Whether a delivery is worth a round trip.
  var isDue: Bool { undelivered.isDue }

  /// Notes a partition that may have prunes to deliver.
  func note(prunesIn partition: Int) { undelivered.insert(partition) }

  /// Delivers the prunes of all noted partitions. If it fails, the sweep through the partitions does it later.
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
