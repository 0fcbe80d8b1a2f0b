import CampaignStore

/// What a worker looks after beside its slices: others' leftovers, one piece at a time. Pure.
struct Upkeep {
  /// Partitions of slices that have ended lately whose prunes others have yet to hear of.
  private var undelivered: Set<Int> = []
  /// The partition whose leftovers are looked at next.
  private var partition = 0
  /// Where in the list of all campaigns the schedule is compared with it next.
  var schedulePosition = 0
  /// References in our list that we knew nothing of at the last look.
  private var unaccounted: Set<SliceReference> = []

  /// Slices with prunes after which these are delivered together.
  private static let deliveredTogether = 16
  /// Partitions between two looks after references and scheduled campaigns that got lost.
  private static let rareEvery = 8

  /// Takes note of a slice that has ended with prunes.
  mutating func note(prunesIn partition: Int) { undelivered.insert(partition) }

  /// Whether delivering is worth a round trip.
  var isDeliveryDue: Bool { undelivered.count >= Self.deliveredTogether }

  /// The partitions whose prunes are to be delivered; from here on they are the caller's.
  mutating func takeUndelivered() -> Set<Int> {
    defer { undelivered = [] }
    return undelivered
  }

  /// The partition to look at now, whose prunes are delivered too, and whether to look for what got lost.
  mutating func next(of partitions: Int) -> (partition: Int, isRare: Bool) {
    let current = partition % partitions
    partition = current + 1
    undelivered.insert(current)
    return (current, current % Self.rareEvery == 0)
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
