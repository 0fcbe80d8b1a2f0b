import CampaignStore

/// Finds slice references in this worker's own list in Redis that no task of the worker handles. Confined to the
/// worker's loop.
final class OwnReferences {
  /// References that the last check found and that no task of this worker handles.
  private var unaccounted: Set<SliceReference> = []
  /// Whether the list had references at the last heartbeat.
  private var isListFilled = false

  /// Whether the list needs no check.
  var isIdle: Bool { unaccounted.isEmpty && !isListFilled }

  /// Records whether the list had references at a heartbeat. If a reply with a reference was lost, no task handles this
  /// reference, and no other worker takes references from the list of a live worker.
  func record(holdsSlices: Bool) { isListFilled = holdsSlices }

  /// Returns the references that no task handles. They come from an earlier process with this name, or from a lost
  /// reply.
  ///
  /// When the worker takes a reference, Redis adds it to the list before the worker gets the reply. A reference
  /// therefore counts only if two checks in a row find it.
  func leftovers(listed: [SliceReference], taken: Set<SliceReference>) -> Set<SliceReference> {
    let unknown = Set(listed).subtracting(taken)
    defer { unaccounted = unknown }
    return unknown.intersection(unaccounted)
  }
}
