import CampaignStore

/// The references to slices in this worker's own list in Redis, as of the last looks. Confined to the
/// worker's loop.
final class OwnReferences {
  /// References of the last look on which nobody works.
  private var unaccounted: Set<SliceReference> = []
  /// Whether the list had references at the last heartbeat.
  private var isListFilled = false

  /// Whether there is no reference to look at.
  var isIdle: Bool { unaccounted.isEmpty && !isListFilled }

  /// Notes what Redis said at a heartbeat: whether the list has references. The reply that brought one may have been lost, and
  /// no other worker takes from the list of a live worker.
  func note(holdsSlices: Bool) { isListFilled = holdsSlices }

  /// Returns the references on which nobody works. They come from an earlier life of this name, or from a reply that was lost.
  ///
  /// A slice that is just being taken is on the list before this worker knows of it. So only a reference that two looks in a row
  /// find counts.
  func leftovers(listed: [SliceReference], taken: Set<SliceReference>) -> Set<SliceReference> {
    let unknown = Set(listed).subtracting(taken)
    defer { unaccounted = unknown }
    return unknown.intersection(unaccounted)
  }
}
