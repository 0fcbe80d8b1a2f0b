import CampaignStore

/// What a worker looks after beside its slices: what they left to do, and what is left in its own name. Pure.
struct Upkeep {
  /// Partitions whose prunes others may have yet to hear of.
  private var undelivered: Set<Int> = []
  /// References in our list that we knew nothing of at the last look.
  private var unaccounted: Set<SliceReference> = []
  /// Whether references were in our list at the last sign of life.
  private var holdsSlices = false

  /// Slices with prunes after which these are delivered together, if a second has not passed before: whose their tokens
  /// were is noted in the tokens' partitions, which cost a script each however many of the tokens are theirs.
  private static let deliveredTogether = 64

  /// Takes note of a partition that may have prunes to deliver.
  mutating func note(prunesIn partition: Int) { undelivered.insert(partition) }

  /// Takes note of what Redis said at a sign of life: whether references are in our list. The reply that brought one may
  /// have been lost, and nobody else takes from the list of a worker that lives.
  mutating func note(holdsSlices: Bool) { self.holdsSlices = holdsSlices }

  /// Whether there is nothing to deliver, and no reference to look at.
  var isIdle: Bool { undelivered.isEmpty && unaccounted.isEmpty && !holdsSlices }

  /// Whether delivering is worth a round trip.
  var isDeliveryDue: Bool { undelivered.count >= Self.deliveredTogether }

  /// The partitions whose prunes are to be delivered; from here on they are the caller's.
  mutating func takeUndelivered() -> Set<Int> {
    defer { undelivered = [] }
    return undelivered
  }

  /// References in our own list that nobody works on: from an earlier life of our name, or by a reply that was lost.
  ///
  /// A slice that is just being taken is in the list before we know of it: only what is there twice in a row counts.
  mutating func leftovers(listed: [SliceReference], taken: Set<SliceReference>) -> Set<SliceReference> {
    let unknown = Set(listed).subtracting(taken)
    defer { unaccounted = unknown }
    return unknown.intersection(unaccounted)
  }
}
