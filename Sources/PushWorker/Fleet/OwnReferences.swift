import CampaignStore

/// The references to slices in this worker's own list in Redis, as of the last checks. Confined to the worker's loop.
final class OwnReferences {
  /// References of the last check that no task of this worker handles.
  private var unaccounted: Set<SliceReference> = []
  /// Whether the list had references at the last heartbeat.
  private var isListFilled = false

  /// Whether the list needs no check.
  var isIdle: Bool { unaccounted.isEmpty && !isListFilled }

  /// Records whether the list had references at a heartbeat. The reply that brought a reference may have been lost, and
  /// no other worker takes from the list of a live worker.
  func note(holdsSlices: Bool) { isListFilled = holdsSlices }

  /// Returns the references that no task handles. They come from an earlier life of this name, or from a lost reply.
  ///
  /// A reference that is just being taken is on the list before this worker knows it. So a reference counts only if two
  /// checks in a row find it.
  func leftovers(listed: [SliceReference], taken: Set<SliceReference>) -> Set<SliceReference> {
    let unknown = Set(listed).subtracting(taken)
    defer { unaccounted = unknown }
    return unknown.intersection(unaccounted)
  }
}
