import CampaignStore

/// Bisection search for the poison target, which kills every worker that sends it. The search tries one half of the
/// targets in doubt, then the other half. After a death, the next owner knows which half was being tried.
///
/// Pure. The ledger records which targets are being tried, so the search survives each death that it costs. It costs
/// three deaths to start, one for each halving, and one for the last target, which is tried alone.
struct Bisection: Equatable {
  /// The next action of the search.
  enum Step: Equatable {
    /// Send these and nothing else of the slice.
    case attempt(ArraySlice<GrantedTarget>)
    /// This target is left: don't send it any more.
    case deadLetter(GrantedTarget)
    /// No target has killed a worker: the slice continues like any other.
    case end
  }

  /// Consecutive deaths, without an outcome in between, that start the search. Two deaths may just be trouble of one
  /// machine.
  static let threshold = 3

  private var rest: [ArraySlice<GrantedTarget>]
  /// The target that was tried alone when the last worker died.
  private var culprit: GrantedTarget?

  /// - Parameters:
  ///   - doubt: The targets in doubt, by index.
  ///   - trial: The targets that were being tried at the last death.
  init(doubt: [GrantedTarget], trial: ClosedRange<Int>?) {
    var candidates = doubt[...]
    if let trial {
      let tried = doubt.filter { trial.contains($0.index) }
      if !tried.isEmpty { candidates = tried[...] }
      // Never the remainder of several targets: a target on the dead list has been tried alone.
      if trial.count == 1 { culprit = tried.first }
    }
    let middle = candidates.startIndex + (candidates.count + 1) / 2
    rest = [candidates[..<middle], candidates[middle...]].filter { !$0.isEmpty }
  }

  mutating func next() -> Step {
    if let culprit {
      self.culprit = nil
      rest = []
      return .deadLetter(culprit)
    }
    guard !rest.isEmpty else { return .end }
    return .attempt(rest.removeFirst())
  }
}
