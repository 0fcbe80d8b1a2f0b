/// What stays between two lots of answers, and what gathers while one is handled. Pure.
struct AnswerDesk {
  /// Pushes that came back unsent, while one lot of answers is handled.
  private var unsent: [(session: SliceSession, index: Int)] = []
  /// Campaigns whose guard has decided, while one lot of answers is handled.
  private var decided: [CampaignContext] = []
  /// Pushes on their way whose slices have been let go of, and whose credit they keep.
  private var orphans: [SliceTag: (account: CreditBudget.Account, count: Int)] = [:]
  /// Tokens that were rejected lately.
  var rejected = RejectedTokens()

  mutating func note(unsent index: Int, of session: SliceSession) { unsent.append((session, index)) }

  /// What came back unsent, by slice.
  mutating func takeUnsent() -> [(session: SliceSession, indexes: [Int])] {
    guard !unsent.isEmpty else { return [] }
    defer { unsent = [] }
    return Dictionary(grouping: unsent) { $0.session.tag }.values.map { ($0[0].session, $0.map(\.index)) }
  }

  mutating func note(decided context: CampaignContext) { decided.append(context) }

  mutating func takeDecided() -> [CampaignContext] {
    guard !decided.isEmpty else { return [] }
    defer { decided = [] }
    return decided
  }

  /// A slice was let go of with pushes on their way: they keep its credit until they are answered.
  mutating func addOrphans(_ count: Int, of session: SliceSession) {
    if count > 0 { orphans[session.tag] = (session.context.account, count) }
  }

  /// Pushes on their way whose slices have been let go of.
  func orphanCount(of account: CreditBudget.Account) -> Int {
    orphans.values.reduce(0) { $0 + ($1.account == account ? $1.count : 0) }
  }

  /// One push of a slice that was let go of has ended.
  ///
  /// - Returns: whose credit is free with it; `nil` for none.
  mutating func endOrphan(of tag: UInt64) -> CreditBudget.Account? {
    guard !orphans.isEmpty, let (account, count) = orphans[SliceTag(of: tag)] else { return nil }
    orphans[SliceTag(of: tag)] = count > 1 ? (account, count - 1) : nil
    return account
  }
}
