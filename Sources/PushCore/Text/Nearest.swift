/// Search for the known name that a person probably meant by an unknown name.
public enum Nearest {
  /// Maximum length in bytes of a name for which the search runs. All names in Carillon are at most as long, and the
  /// time of the search grows with the square of the length.
  static let longestName = 64

  /// Returns the known name nearest to `name`; `nil` if none is near enough. If several are equally near, returns the
  /// first one in alphabetical order.
  ///
  /// A name that differs only in case is always near. Otherwise, up to a third of its letters may differ; one letter
  /// may always differ.
  ///
  /// - Parameter most: maximum number of letters that may differ, regardless of the length of the name.
  public static func match(
    _ name: String, among known: some Sequence<String>, within most: Int = .max
  ) -> String? {
    guard !name.isEmpty, name.utf8.count <= longestName else { return nil }
    let wanted = Array(name.lowercased().utf8)
    let limit = min(most, max(1, wanted.count / 3))
    var best: (name: String, distance: Int)?
    for candidate in known {
      let letters = Array(candidate.lowercased().utf8)
      // The distance is at least the difference of the lengths.
      guard abs(letters.count - wanted.count) <= min(limit, best?.distance ?? .max) else { continue }
      let distance = Self.distance(wanted, letters)
      if let best, (best.distance, best.name) <= (distance, candidate) { continue }
      best = (candidate, distance)
    }
    guard let best, best.distance <= limit else { return nil }
    return best.name
  }

  /// Returns a hint for an unknown name: the nearest known name, or all known names if none is near.
  public static func hint(_ name: String, among known: some Sequence<String>) -> String {
    if let match = match(name, among: known) { return "did you mean '\(match)'?" }
    let all = known.sorted()
    guard !all.isEmpty else { return "there are none" }
    // A list that is longer than a line of the screen is not useful.
    let shown = all.prefix(20).joined(separator: ", ")
    return "known: " + shown + (all.count > 20 ? ", …" : "")
  }

  /// Returns the Levenshtein distance, in which a swap of two adjacent letters also counts as one step.
  static func distance(_ first: [UInt8], _ second: [UInt8]) -> Int {
    var beforePrevious: [Int] = []
    var previous = Array(0...second.count)
    for row in first.indices {
      var current = [row + 1]
      current.reserveCapacity(second.count + 1)
      for column in second.indices {
        let same = first[row] == second[column]
        var least = min(previous[column] + (same ? 0 : 1), previous[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
          least = min(least, beforePrevious[column - 1] + 1)
        }
        current.append(least)
      }
      beforePrevious = previous
      previous = current
    }
    return previous[second.count]
  }
}
