@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Outcome of a target in every state of its record and its slice, as each reader derives it.
///
/// The rows come from the enumerations. `Tests/Pages/outcomes.md` has the table. The test fails for a new outcome,
/// state or phase until the table has its row. It also fails for a reader that derives another outcome.
struct OutcomeTableTests {
  /// State of one target: its record, whether it is below its slice's high-water mark, and whether its present attempt
  /// is withheld.
  private struct Row: Hashable {
    var state: UInt8
    var isAmbiguous: Bool
    var isGranted: Bool
    var isWithheld = false

    var record: LedgerRecord {
      var history = AttemptHistory(isAmbiguous: isAmbiguous)
      history.isWithheld = isWithheld
      return LedgerRecord(
        state: LedgerRecord.State(code: state) ?? .granted, history: history, status: state == 0 ? 0 : 503,
        at: state == 1 ? 3_600_000 : 5000)
    }

    var cells: [String] {
      let name = Outcome(rawValue: state)?.name ?? (state == 1 ? "waiting" : isGranted ? "granted" : "not granted")
      return [isWithheld ? name + ", withheld" : name, isAmbiguous ? "yes" : "no"]
    }
  }

  /// Every record that the scripts can write. A target that was never granted has no record, and a target with an
  /// outcome was granted. An undelivered outcome never occurs together with an ambiguous attempt.
  private static let rows: [Row] = {
    var rows = [
      Row(state: 0, isAmbiguous: false, isGranted: false),
      Row(state: 0, isAmbiguous: false, isGranted: true),
      Row(state: 0, isAmbiguous: true, isGranted: true),
      Row(state: 1, isAmbiguous: false, isGranted: true),
      Row(state: 1, isAmbiguous: true, isGranted: true),
      Row(state: 0, isAmbiguous: false, isGranted: true, isWithheld: true),
    ]
    for outcome in Outcome.allCases {
      rows.append(Row(state: outcome.rawValue, isAmbiguous: false, isGranted: true))
      if !outcome.saysUndelivered { rows.append(Row(state: outcome.rawValue, isAmbiguous: true, isGranted: true)) }
    }
    return rows
  }()

  /// Returns the rows that a slice in this phase can have.
  private static func rows(in phase: SlicePhase) -> [Row] {
    switch phase {
    case .expanding: []
    case .sealed, .cancelled: rows
    case .done: rows.filter { $0.state >= Outcome.accepted.rawValue }
    }
  }

  private static let head =
    ["record", "ambiguous attempt"] + SlicePhase.allCases.map { "slice \($0.rawValue)" }
    + ["line with `results: all`", "with `failures`", "found by `{\"campaign\": …}`", "gets a correction"]

  /// Results of the readers for a row, in the order of the phases.
  private struct Observed {
    var outcomes: [SlicePhase: Outcome?] = [:]
    var lines: [ResultsMode: String] = [:]
    var retargeted: [String] = []
    var isCorrected = false
  }

  @Test func everyReaderDerivesTheOutcomeOfTheTable() async throws {
    var observed: [Row: Observed] = [:]
    for phase in SlicePhase.allCases where !Self.rows(in: phase).isEmpty {
      for mode in [ResultsMode.all, .failures] {
        try await read(phase, mode, into: &observed)
      }
    }
    let rows = Self.rows.map { row -> [String] in
      guard let observed = observed[row] else { return row.cells }
      let phases = SlicePhase.allCases.map { phase in
        Self.rows(in: phase).contains(row) ? observed.outcomes[phase].flatMap { $0?.name } ?? "none" : "–"
      }
      return row.cells + phases + [observed.lines[.all] ?? "none", observed.lines[.failures] ?? "none"]
        + [observed.retargeted.joined(separator: ", "), observed.isCorrected ? "yes" : "no"]
    }
    let table = DocumentedTable("outcomes", head: Self.head, rows: rows)
    expect(try table.documented(), is: table.markdown)
  }

  /// Rules that the table must obey, whatever its rows are.
  @Test func possibleDeliveryIsNeverUndelivered() {
    for row in Self.rows where row.state < Outcome.accepted.rawValue {
      let outcome = row.record.outcome(in: .cancelled, isGranted: row.isGranted)
      expect(
        outcome, is: row.isAmbiguous || row.state == 0 && row.isGranted && !row.isWithheld ? .unknown : .cancelled)
    }
    for outcome in Outcome.allCases {
      var record = LedgerRecord(state: .waiting, history: AttemptHistory(counted: 3, isAmbiguous: true))
      record.finish(outcome, at: 1)
      expect(record.state, is: .terminal(outcome.saysUndelivered ? .unknown : outcome))
      record = LedgerRecord(state: .waiting, history: AttemptHistory(counted: 3))
      record.finish(outcome, at: 1)
      expect(record.state, is: .terminal(outcome))
    }
  }

  @Test(arguments: Outcome.allCases)
  func scriptsHaveTheSameUndeliveredOutcomes(_ outcome: Outcome) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    let ledger = try await world.sealed("a", count: 1, granted: 1)
    var retry = LedgerRecord.waiting()
    retry.history.isAmbiguous = true
    try await ledger.commit([0: retry])
    expect(try await ledger.commit(credit: 1).retries.map(\.history.isAmbiguous), is: [true])
    // No worker records this outcome. If it did, the script would keep the record, and the target would stay in doubt.
    try await ledger.commit([0: .terminal(outcome, attempt: 1)])
    let record = try await ledger.record(0)
    expect(record.state, is: outcome.saysUndelivered ? .granted : .terminal(outcome))
    expect(outcome.saysUndelivered, is: record.history.isAmbiguous)
    // A stale owner can't record this outcome either, because the new owner may have sent the target.
    let other = try await world.sealed("b", count: 1)
    try await other.commit(credit: 1)
    try await world.endLease("b")
    _ = try await world.claimed("b", worker: "new")
    try await other.commit([0: .terminal(outcome)])
    expect(try await other.record(0).state, is: outcome.saysUndelivered ? .granted : .terminal(outcome))
  }

  /// Builds a slice of a campaign with a target for each row, and asks every reader.
  private func read(_ phase: SlicePhase, _ mode: ResultsMode, into observed: inout [Row: Observed]) async throws {
    let rows = Self.rows(in: phase).sorted { $0.isGranted && !$1.isGranted }
    let world = try await TestStore(on: .single, partitions: 1, streamLength: 1000)
    try await world.registerUsers(0..<rows.count)
    let campaign = try await world.activate("a", #","results":"\#(mode.rawValue)""#)
    let rules = GrantRules(campaign, caps: [FrequencyCap(most: 1, seconds: 86_400)])
    let ledger = try await world.claimed("a", rules: rules).ledger
    expect(try await world.expand(ledger, campaign), is: rows.count)
    let granted = rows.count { $0.isGranted }
    let chunk = try await ledger.targets(from: 0, count: rows.count)
    // Users of withheld targets have reached the cap.
    for (index, row) in rows.enumerated() where row.isWithheld {
      let user = String(decoding: chunk.user(index), as: UTF8.self)
      let before = try await world.activate("before\(index)", audience: #"{"users":["\#(user)"]}"#)
      let first = try await world.claimed(before.id, rules: rules).ledger
      expect(try await world.expand(first, before), is: 1)
      try await first.commit(credit: 1)
    }
    try await ledger.commit(credit: granted)
    try await commit(rows, chunk, mode, to: ledger)
    var counters: SliceCounters?
    if phase != .sealed {
      counters = try await ledger.close(phase == .done ? .finish : .cancel, results: mode).counters
      let closed = try #require(counters)
      if phase == .cancelled { try await world.store.campaigns.control("a", .cancel) }
      _ = try await world.store.slices.finish(ledger.slice, counters: closed, lane: .normal, worker: "w")
    }
    expect(try await world.slice("a").text["phase"], is: phase.rawValue)

    // The export.
    var results: [TargetResult] = []
    try await world.store.results.forEachResult(of: "a") { page in
      results += page
      return true
    }
    let users = (0..<rows.count).map { String(decoding: chunk.user($0), as: UTF8.self) }
    expect(results.map(\.user), is: users)
    var tally: [Outcome: Int] = [:]
    for (index, row) in rows.enumerated() {
      let outcome = results[index].outcome
      // The function in the code.
      expect(outcome, is: row.record.outcome(in: phase, isGranted: row.isGranted), "\(row) in \(phase)")
      if let outcome { tally[outcome, default: 0] += 1 }
      expect(results[index].at > 0, is: outcome != nil)
      // `results show`, by token and by user.
      let token = try #require(results[index].token)
      expect(try await world.store.results.result(of: token, "apns", in: "a")?.outcome, is: outcome)
      expect(try await world.store.results.results(ofUser: users[index], in: "a").map(\.outcome), is: [outcome])
      observed[row, default: Observed()].outcomes[phase] = .some(outcome)
    }
    // `campaign show`, webhooks and reports.
    expect(try await world.store.campaigns.show("a")?.counters.outcomes, is: tally)
    if let counters { expect(counters.outcomes, is: tally) }
    // Retargeting for each outcome alone, and a correction, which selects the default outcomes.
    for outcome in Outcome.allCases where phase != .sealed {
      for user in try await audience(of: #"{"campaign":"a","outcome":"\#(outcome.name)"}"#, world) {
        let index = try #require(users.firstIndex(of: user))
        expect(results[index].outcome, is: outcome, "\(rows[index]) is found as \(outcome)")
        if mode == .all, phase == .cancelled {
          observed[rows[index], default: Observed()].retargeted.append(outcome.name)
        }
      }
    }
    if phase != .sealed {
      let corrected = Set(try await audience(of: #"{"campaign":"a"}"#, world))
      let others = Set(try await audience(of: #"{"segment":"*","exclude":{"campaign":"a"}}"#, world))
      expect(corrected.isDisjoint(with: others) && corrected.union(others) == Set(users))
      for (index, row) in rows.enumerated() {
        let mayHaveIt = results[index].outcome == .accepted || results[index].outcome == .unknown
        expect(corrected.contains(users[index]), is: mayHaveIt)
        observed[row]?.isCorrected = mayHaveIt
      }
    }
    // The results hash.
    for (index, row) in rows.enumerated() where phase == .cancelled {
      let token = TestStore.service.text(of: try #require(results[index].token))
      let line = try await world.command("HGET", world.keys.results(0, "a"), token).string
      observed[row]?.lines[mode] = line.map { String($0.prefix { $0 != " " }) } ?? "none"
    }
    // The event stream has each outcome of a slice that has ended.
    if phase != .sealed {
      let entries = try await world.command("XRANGE", world.keys.events, "-", "+")
      let texts = entries.compactMap { $0[1][3].string }.filter { $0.contains("\"outcome\"") }
      let streamed = users.indices.map { index in
        texts.filter { $0.contains("\"user\":\"\(users[index])\"") }.map { text in
          Outcome.allCases.first { text.contains("\"outcome\":\"\($0.name)\"") }
        }
      }
      expect(streamed, is: results.map { [$0.outcome] })
    }
    // The check of the store derives the same counters from the ledger.
    var findings: [StoreFinding] = []
    _ = try await world.store.repair.check(pause: .zero) { findings += $0 }
    expect(findings.filter { $0.kind == .wrongCounters }.isEmpty, "\(findings)")
  }

  /// Records the rows as workers do: waiting targets first, then outcomes with their lines.
  private func commit(
    _ rows: [Row], _ chunk: TargetChunk, _ mode: ResultsMode, to ledger: SliceLedger
  ) async throws {
    var batch = OutcomeBatch()
    for (index, row) in rows.enumerated() where row.isGranted && (row.state > 0 || row.isAmbiguous) {
      let keepsLine = mode == .all || row.state != Outcome.accepted.rawValue
      // A target that is granted again was waiting before.
      let record = row.state == 0 ? Row(state: 1, isAmbiguous: true, isGranted: true).record : row.record
      batch.append(
        row.state == 0 ? .waiting(isAmbiguous: true) : record, at: index, action: .none, token: chunk.token(index),
        user: chunk.user(index), timestamp: 0, keepsResult: keepsLine)
    }
    _ = try await ledger.commit(&batch, credit: 0)
    let again = rows.count { $0.state == 0 && $0.isAmbiguous }
    expect(try await ledger.commit(credit: again).retries.count, is: again)
  }

  /// Returns the users whom a campaign to an audience reaches.
  private func audience(of audience: String, _ world: TestStore) async throws -> [String] {
    let job = TestStore.job("c", audience: audience)
    let campaign = try CampaignJob.parse(job, .any([TestStore.service]))
    let ledger = SliceLedger(
      store: world.store, slice: SliceReference(campaign: "c", partition: 0), lease: TestStore.timeout, app: "news")
    try await world.command("DEL", world.keys.slice(0, of: "c"), world.keys.targets(0, "c"))
    _ = try await ledger.claim(worker: "w")
    let count = try #require(try await world.expand(ledger, campaign))
    let chunk = try await ledger.targets(from: 0, count: count)
    return (0..<count).map { String(decoding: chunk.user($0), as: UTF8.self) }
  }
}
