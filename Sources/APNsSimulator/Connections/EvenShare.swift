/// Picks a share of all items evenly, without random numbers: a share of 0.01 picks every hundredth item.
struct EvenShare {
  private var progress = 0.0

  /// Returns whether the next item is picked.
  mutating func isDue(_ share: Double) -> Bool {
    if share <= 0 { return false }
    progress += share
    // The tolerance is necessary because the floating-point sum of ten tenths is slightly less than one.
    guard progress >= 1 - 1e-9 else { return false }
    progress -= 1
    return true
  }

  /// Counts an item that can't be picked. If this item was due, the next item is picked instead.
  mutating func postpone(_ share: Double) { progress += share }
}
