/// The worker's window, and the credit of pushes whose slices this worker has released. Confined to the worker's loop.
final class CreditLedger {
  private(set) var budget: CreditBudget
  /// Orphans: pushes in flight whose slices were released. They keep the credit that their slices held.
  private var orphans: [SliceTag: (account: CreditBudget.Account, count: Int)] = [:]

  init(window: Int) {
    budget = CreditBudget(window: window)
  }

  /// Sets whether there is more than one pool.
  func setShared(_ isShared: Bool) { budget.isShared = isShared }

  /// Allocates credit to a slice.
  func assign(_ amount: Int, to session: SliceSession) {
    budget.assign(amount, to: session.context.facts.account)
    session.add(credit: amount)
  }

  /// Takes credit of a slice back.
  func giveBack(_ amount: Int, of session: SliceSession) {
    budget.giveBack(amount, of: session.context.facts.account)
    session.add(credit: -amount)
  }

  /// Releases a slice. Its pushes in flight keep their credit until they are answered. Until then no other slice may
  /// use this credit.
  func release(_ session: SliceSession, inFlight count: Int) {
    if count > 0 { orphans[session.tag] = (session.context.facts.account, count) }
    giveBack(session.credit - count, of: session)
  }

  /// Returns the number of pushes in flight whose slices were released.
  func orphanCount(of account: CreditBudget.Account) -> Int {
    orphans.values.reduce(0) { $0 + ($1.account == account ? $1.count : 0) }
  }

  /// Takes back the credit of an answered push whose slice was released. Does nothing if the push is not an orphan.
  func endOrphan(of tag: UInt64) {
    guard !orphans.isEmpty, let (account, count) = orphans[SliceTag(of: tag)] else { return }
    orphans[SliceTag(of: tag)] = count > 1 ? (account, count - 1) : nil
    budget.giveBack(1, of: account)
  }
}
