import CampaignStore

/// The search for the target that kills every worker that sends it: half of what is in doubt is tried, then the other
/// half; whoever takes over after a death knows which half it was.
///
/// Pure: the ledger keeps which targets are being tried, so the search survives every death it costs: three to begin
/// with, then one for each halving, and one for the last that is tried alone.
struct Bisection: Equatable {
  /// What to do next.
  enum Step: Equatable {
    /// Send these and nothing else of the slice.
    case attempt(ArraySlice<GrantedTarget>)
    /// This one is left: it is not sent any more.
    case deadLetter(GrantedTarget)
    /// None of them has killed anybody: the slice goes on as any other.
    case end
  }

  /// Deaths in a row, without an outcome in between, that begin the search. Two may be a machine's bad day.
  static let threshold = 3

  private var rest: [ArraySlice<GrantedTarget>]
  /// The target that was tried alone when the last worker died.
  private var culprit: GrantedTarget?

  /// - Parameters:
  ///   - doubt: what is in doubt, by index.
  ///   - trial: which of it was being tried at the last death.
  init(doubt: [GrantedTarget], trial: ClosedRange<Int>?) {
    var candidates = doubt[...]
    if let trial {
      let tried = doubt.filter { trial.contains($0.index) }
      if !tried.isEmpty { candidates = tried[...] }
      // Not what is merely left of several: whoever is buried has been tried alone.
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
