/// Picks a share of what passes, evenly and without chance: 0.01 is every hundredth.
struct EvenShare {
  private var progress = 0.0

  /// Whether the next one is picked.
  mutating func isDue(_ share: Double) -> Bool {
    if share <= 0 { return false }
    progress += share
    // Sums of tenths fall a little short of one.
    guard progress >= 1 - 1e-9 else { return false }
    progress -= 1
    return true
  }

  /// Counts one that can't be picked; if it was its turn, the next is.
  mutating func postpone(_ share: Double) { progress += share }
}
