/// The worker's window, and the credit of pushes whose slices this worker has let go of. Confined to the worker's loop.
final class CreditLedger {
  private(set) var budget: CreditBudget
  /// Pushes under way whose slices were let go of. They keep the credit of the slice.
  private var orphans: [SliceTag: (account: CreditBudget.Account, count: Int)] = [:]

  init(window: Int) {
    budget = CreditBudget(window: window)
  }

  /// Sets whether there is more than one pool.
  func setShared(_ isShared: Bool) { budget.isShared = isShared }

  /// Lends credit to a slice.
  func lend(_ amount: Int, to session: SliceSession) {
    budget.lend(amount, to: session.context.facts.account)
    session.note(credit: amount)
  }

  /// Takes credit of a slice back.
  func giveBack(_ amount: Int, of session: SliceSession) {
    budget.giveBack(amount, of: session.context.facts.account)
    session.note(credit: -amount)
  }

  /// Lets go of a slice. Its pushes under way keep their credit until they are answered: another slice must not have it before.
  func release(_ session: SliceSession, underWay count: Int) {
    if count > 0 { orphans[session.tag] = (session.context.facts.account, count) }
    giveBack(session.credit - count, of: session)
  }

  /// Returns the number of pushes under way whose slices were let go of.
  func orphanCount(of account: CreditBudget.Account) -> Int {
    orphans.values.reduce(0) { $0 + ($1.account == account ? $1.count : 0) }
  }

  /// Takes the credit of a push back whose slice was let go of. Ignores other pushes.
  func endOrphan(of tag: UInt64) {
    guard !orphans.isEmpty, let (account, count) = orphans[SliceTag(of: tag)] else { return }
    orphans[SliceTag(of: tag)] = count > 1 ? (account, count - 1) : nil
    budget.giveBack(1, of: account)
  }
}
