import PushCore

/// Expected state of a slice's ledger in plain Swift: the rules of the design without their storage.
struct LedgerModel {
  var records: [LedgerRecord]
  var granted = 0
  var outcomes: [Outcome: Int] = [:]

  init(count: Int) {
    records = Array(repeating: LedgerRecord(state: .granted), count: count)
  }

  /// The number of targets that are granted without an answer.
  var inDoubt: Int { records[..<granted].count { $0.state == .granted } }
  var waiting: Int { records.count { $0.state == .waiting } }

  mutating func grant(_ credit: Int) {
    granted = min(granted + credit, records.count)
  }

  mutating func merge(_ new: LedgerRecord, at index: Int, byOwner isOwner: Bool = true) {
    // The owner may have sent the target after the stale owner's undelivered outcome.
    if case .terminal(let outcome) = new.state, !isOwner, outcome.saysUndelivered { return }
    // A target that was sent had been granted, even if Redis lost the grant.
    granted = max(granted, index + 1)
    let old = records[index]
    var new = new
    if case .terminal(let outcome) = new.state {
      if old.state == .granted || old.state == .waiting, old.history.isAmbiguous, outcome.saysUndelivered { return }
      if case .terminal(let before) = old.state {
        guard outcome == .accepted, before != .accepted else { return }
        outcomes[before, default: 0] -= 1
      }
      outcomes[outcome, default: 0] += 1
    } else {
      guard isOwner, Self.rank(new) > Self.rank(old) else { return }
      new.history.isAmbiguous = new.history.isAmbiguous || old.history.isAmbiguous
    }
    records[index] = new
  }

  /// The rank of a record: attempt first, then phase. A terminal record has the highest rank.
  private static func rank(_ record: LedgerRecord) -> Int {
    switch record.state {
    case .granted: Int(record.attempt) * 2
    case .waiting: Int(record.attempt) * 2 + 1
    case .terminal: .max
    }
  }

  /// Every state that matters to the rules, with attempts up to 2.
  static var states: [LedgerRecord] {
    (0..<3).flatMap { attempt in
      [
        LedgerRecord(state: .granted, attempt: attempt),
        .waiting(attempt: attempt, milliseconds: 3_600_000),
        .waiting(attempt: attempt, milliseconds: 3_600_000, isAmbiguous: true),
      ]
    } + Outcome.allCases.map { .terminal($0, attempt: 1) }
  }
}
