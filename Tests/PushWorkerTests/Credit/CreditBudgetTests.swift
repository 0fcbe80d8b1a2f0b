import TestKit
import TestSupport
import Testing

@testable import PushWorker

@Suite struct CreditBudgetTests {
  private typealias Account = CreditBudget.Account

  private func budget(_ window: Int, isShared: Bool = true) -> CreditBudget {
    var budget = CreditBudget(window: window)
    budget.isShared = isShared
    return budget
  }

  /// Lends all available credit.
  private func fill(_ budget: inout CreditBudget, _ account: Account) {
    while case let more = budget.allowance(account), more > 0 { budget.assign(more, to: account) }
  }

  @Test func onlyPoolGetsTheWholeWindow() {
    var budget = budget(1000, isShared: false)
    fill(&budget, Account(pool: 0, lane: 1))
    expect(budget.assigned, is: 1000)
    expect(budget.allowance(Account(pool: 0, lane: 0)), is: 0)
  }

  @Test func firstPoolLeavesCreditToTheNext() {
    var budget = budget(1000)
    for pool in 0..<4 { fill(&budget, Account(pool: pool, lane: 1)) }
    expect((0..<4).map { budget.held(by: $0) }, is: [750, 187, 47, 12])
  }

  @Test func noPoolKeepsTwiceTheCreditOfAnother() {
    var budget = budget(1000)
    let accounts = (0..<3).map { Account(pool: $0, lane: 1) }
    for account in accounts { fill(&budget, account) }
    // Answers come back in proportion to the pushes in flight.
    for _ in 0..<200 {
      for account in accounts {
        let answered = (budget.held(by: account.pool) + 9) / 10
        budget.giveBack(answered, of: account)
      }
      for account in accounts { fill(&budget, account) }
    }
    let held = accounts.map { budget.held(by: $0.pool) }
    expect((held.max() ?? 0) < 2 * (held.min() ?? 0), "\(held)")
  }

  @Test func creditOfLowerLanesDoesNotLimitAHigherLane() {
    var budget = budget(1000)
    fill(&budget, Account(pool: 0, lane: 2))
    expect(budget.allowance(Account(pool: 0, lane: 0)), is: 250)
    expect(budget.allowance(Account(pool: 1, lane: 0)), is: 250)
    expect(budget.allowance(Account(pool: 1, lane: 2)), is: 187)
  }

  @Test(arguments: 2...40) func noWindowIsTooSmallForTwo(window: Int) {
    var budget = budget(window)
    fill(&budget, Account(pool: 0, lane: 1))
    expect(budget.allowance(Account(pool: 1, lane: 1)) > 0)
    expect(budget.maximumCredit(of: Account(pool: 1, lane: 1)), is: budget.allowance(Account(pool: 1, lane: 1)))
  }

  @Test func assignedCreditNeverExceedsTheWindow() {
    var seed = Seed("assignedCreditNeverExceedsTheWindow")
    for _ in 0..<200 {
      var budget = budget(Int.random(in: 1...300, using: &seed), isShared: .random(using: &seed))
      var assigned: [Account: Int] = [:]
      for _ in 0..<300 {
        let account = Account(pool: .random(in: 0..<4, using: &seed), lane: .random(in: 0..<3, using: &seed))
        if Bool.random(using: &seed) {
          let amount = Int.random(in: 0...budget.allowance(account), using: &seed)
          budget.assign(amount, to: account)
          assigned[account, default: 0] += amount
        } else if let held = assigned[account], held > 0 {
          let amount = Int.random(in: 1...held, using: &seed)
          budget.giveBack(amount, of: account)
          assigned[account] = held - amount
        }
        expect(budget.assigned <= budget.window)
        expect(budget.assigned, is: assigned.values.reduce(0, +))
      }
    }
  }
}
