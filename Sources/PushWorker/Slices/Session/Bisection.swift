import CampaignStore

/// Bisection search for the poison target: the target that kills every worker that sends it. A worker sends one half of
/// the targets in doubt, and then the other half. If the worker dies, the next owner knows which half the worker had
/// sent.
///
/// The type does no I/O. Redis has a record of the targets that are being sent, so the search continues after each
/// death. Three deaths start the search. The search then costs at most one death for each halving, and one for the last
/// target, which is sent alone.
struct Bisection: Equatable {
  /// The next action of the search.
  enum Step: Equatable {
    /// Send these targets and no others of the slice.
    case attempt(ArraySlice<GrantedTarget>)
    /// The last worker died while it sent only this target: don't send the target again.
    case deadLetter(GrantedTarget)
    /// No target has killed a worker. The slice continues like any other.
    case end
  }

  /// Number of consecutive deaths, without an outcome in between, that start the search. Two deaths may have another
  /// cause, such as a faulty machine.
  static let threshold = 3

  private var rest: [ArraySlice<GrantedTarget>]
  /// The target that the last worker had sent alone when it died.
  private var poisonTarget: GrantedTarget?

  /// Starts the search, or continues it after a death.
  ///
  /// - Parameters:
  ///   - doubt: The targets in doubt, by index.
  ///   - trial: The targets that were being tried at the last death.
  init(doubt: [GrantedTarget], trial: ClosedRange<Int>?) {
    var candidates = doubt[...]
    if let trial {
      let tried = doubt.filter { trial.contains($0.index) }
      if !tried.isEmpty { candidates = tried[...] }
      // Only a target that was sent alone goes to the dead list. If only one target remains because the others were
      // excluded, it is first sent alone.
      if trial.count == 1 { poisonTarget = tried.first }
    }
    let middle = candidates.startIndex + (candidates.count + 1) / 2
    rest = [candidates[..<middle], candidates[middle...]].filter { !$0.isEmpty }
  }

  mutating func next() -> Step {
    if let poisonTarget {
      self.poisonTarget = nil
      rest = []
      return .deadLetter(poisonTarget)
    }
    guard !rest.isEmpty else { return .end }
    return .attempt(rest.removeFirst())
  }
}
