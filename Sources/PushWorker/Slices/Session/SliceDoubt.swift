import CampaignStore

/// Targets of a slice that are granted without an answer and not under way here, and the search among them for one that
/// kills its workers.
struct SliceDoubt {
  /// Yet to be sent again: an earlier owner's, or granted by a reply that was lost.
  var targets: [GrantedTarget] = []
  /// Not to be sent while others are being tried.
  var setAside: [GrantedTarget] = []
  /// Whether it is another worker's: what Redis granted and we never heard of was certainly not sent.
  var isInherited = false
  /// The search, while there is one.
  var bisection: Bisection?
  /// Claims in a row that ended with a death, and where the last search stood, if one is to begin.
  var deaths: (count: Int, trial: ClosedRange<Int>?)?
  /// Targets sent again, yet to be counted in the ledger.
  var resent = 0

  var isEmpty: Bool { targets.isEmpty && setAside.isEmpty }

  /// Begins the search for the target that kills its workers, if a claim asked for one.
  ///
  /// - Returns: how many it has killed.
  mutating func beginBisection() -> Int? {
    guard let deaths else { return nil }
    bisection = Bisection(doubt: targets, trial: deaths.trial)
    setAside = targets
    targets = []
    return deaths.count
  }

  /// The claim is lost, and the doubt is the new owner's.
  mutating func drop() {
    targets = []
    setAside = []
    bisection = nil
  }

  /// Ends the search: what it had set aside goes the way of all that is in doubt.
  mutating func endBisection() {
    bisection = nil
    targets += setAside
    setAside = []
  }
}
