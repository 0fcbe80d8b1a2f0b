@testable import CampaignStore
import PushCore
import TestKit
import TestSupport
import Testing

/// Commands to campaigns with several parts: each command to each kind of campaign at each moment, while its caller and
/// a worker are killed. `Tests/Pages/control.md` has the table.
///
/// The test checks the states, who gets pushes, and the reported counts of all parts, after the command and at the end
/// of the campaign. Each run of the short form plays half of the table.
@Suite(.takesTurns) struct ControlTableTests {
  private enum Command: String, CaseIterable {
    case pause, resume, cancel, approve
    case needlessApproval = "approve, although nothing needs approval"
  }

  private struct Cell {
    var kind: ControlScene.Kind
    var moment: ControlScene.Moment
    var command: Command

    /// Whether the command is refused, because nothing waits for approval. Before its first run, a recurring campaign
    /// has nothing to approve.
    var isRefused: Bool {
      command == .needlessApproval || command == .approve && kind == .recurring && moment == .before
    }

    /// Whether the campaign continues after the command.
    var continues: Bool { command != .pause && command != .cancel }

    // MARK: Expected values

    private var parts: [String] {
      switch kind {
      case .test, .canary, .winner, .recurring: ["1", "rest"]
      case .stagedLegs: ["1-apns", "1-text", "rest-apns", "rest-text"]
      case .also: ["main", "main.widgets"]
      case .legs: ["main-apns", "main-text"]
      }
    }

    /// The parts of the first stage. In a campaign without stages, the first part.
    private var first: ArraySlice<String> { parts.prefix(kind == .stagedLegs ? 2 : 1) }
    private var others: ArraySlice<String> { parts.dropFirst(first.count) }

    /// The states of a campaign that is not paused.
    private var normal: [(part: String, state: CampaignState)] {
      let begins: CampaignState = moment == .before ? .scheduled : moment == .during ? .active : .completed
      let other: CampaignState = moment == .after ? .active : kind.hasStages ? .waiting : begins
      return first.map { ($0, begins) } + others.map { ($0, other) }
    }

    /// The expected states after the command, as ``ControlScene/states()`` writes them.
    var states: String {
      func after(_ state: CampaignState) -> CampaignState {
        state.isFinal ? state : command == .pause ? .paused : command == .cancel ? .cancelled : state
      }
      let lead = after(.scheduled)
      if kind == .recurring, moment == .before { return "\(lead)" }
      let whole = after(moment == .before ? .scheduled : .active)
      let text = "\(whole): " + normal.map { "\($0.part) \(after($0.state))" }.joined(separator: ", ")
      return kind == .recurring ? "\(lead); run \(text)" : text
    }

    /// The expected parts whose pushes are sent within the hour after the command.
    var sentParts: [String] {
      guard continues else { return [] }
      switch moment {
      case .before where kind.hasStages, .during where kind.hasStages: return Array(first)
      case .before, .during: return parts
      // The gate asks for its approval.
      case .between where kind == .test && command != .approve: return []
      case .between, .after: return Array(others)
      }
    }

    /// The parts that had begun before the command and had not ended.
    var runningParts: Set<String> { Set(normal.filter { $0.state == .active }.map(\.part)) }
  }

  private static let cells = ControlScene.Kind.allCases.flatMap { kind in
    ControlScene.Moment.allCases.filter { $0 != .between || kind.hasStages }.flatMap { moment in
      Command.allCases.map { Cell(kind: kind, moment: moment, command: $0) }
    }
  }

  /// The number of steps of a command's caller before which it is killed, at least.
  private static let steps = 8

  @Test(.timeLimit(.minutes(10)))
  func everyCommandReachesEveryPart() async throws {
    var seed = Seed("everyCommandReachesEveryPart")
    var rows: [[String]] = []
    let isWhole = TestForm.isLong || DocumentedTable.isWritten
    let all = isWhole ? Self.cells : TestForm.rows(Self.cells, inParts: 2)
    for start in stride(from: 0, to: all.count, by: 8) {
      let cells = all[start..<min(start + 8, all.count)]
      // The caller is killed before each of its steps; in the short form before one step, in half of the cells.
      let steps = cells.map { _ in
        let step = Int.random(in: 0..<2 * Self.steps, using: &seed)
        return TestForm.isLong ? Array(0..<Self.steps) : step < Self.steps ? [step] : []
      }
      rows += try await withThrowingTaskGroup(of: (Int, [String]).self) { group in
        for (place, (cell, steps)) in zip(cells, steps).enumerated() {
          group.addTask {
            let row = try await Self.check(cell, killedBefore: nil)
            for step in steps { _ = try await Self.check(cell, killedBefore: step) }
            return (place, row)
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
      }
    }
    let head = ["campaign", "moment", "command", "states after the command", "pushes in the next hour", "in the end"]
    let table = DocumentedTable("control", head: head, rows: rows)
    expect(try table.missing(), is: [], "CARILLON_WRITE_TABLES=1 writes them")
    if isWhole { expect(try table.documented(), is: table.markdown) }
  }

  /// Carries out the command of a cell, and checks the campaign until its end.
  ///
  /// - Parameter step: the step before which the command's caller is killed. Then the worker that sends a part dies,
  ///   too. `nil` for no kill.
  /// - Returns: the row of the table.
  private static func check(_ cell: Cell, killedBefore step: Int?) async throws -> [String] {
    let place: Comment =
      "\(cell.kind) \(cell.moment), \(cell.command)\(step.map { ", killed before step \($0)" } ?? "")"
    var scene = try await ControlScene(cell.kind, cell.moment, needsApproval: cell.command == .approve)
    let campaigns = scene.world.store.campaigns
    if cell.command == .resume { expect(try await campaigns.control("a", .pause), is: .paused, place) }
    let (before, sent) = (try await scene.states(), scene.pushes)
    if cell.command == .approve, !cell.isRefused {
      expect(before.contains("paused"), place)
      await expectUnapproved(place) { _ = try await campaigns.resume("a", unguarded: false, by: "grace") }
      await expectUnapproved(place) { _ = try await campaigns.approve("a", by: "ada") }
    }

    var isKilled = false
    if let step {
      do {
        isKilled = try await KilledCaller.dies(before: step) { try await carryOut(cell, campaigns) }
      } catch let error as StoreError where cell.isRefused && error.code == .unapproved {
        // The command is refused before its caller would be killed.
      }
    }
    let between = try await scene.states()
    if step == nil || isKilled {
      if cell.isRefused {
        await expectUnapproved(place) { try await carryOut(cell, campaigns) }
      } else {
        do { try await carryOut(cell, campaigns) } catch let error as StoreError where isKilled {
          // The caller had approved the campaign before it was killed.
          expect(error.code == .unapproved && cell.command == .approve && between == cell.states, place)
        }
      }
    }
    let after = try await scene.states()
    expect(after == cell.states && [before, after].contains(between), place)
    expect(try await scene.problems(), is: [], place)

    try await scene.release(dies: step != nil)
    try await scene.letHourPass(forcesRun: cell.command == .cancel)
    try await scene.work()
    let sentParts = newParts(scene.pushes, since: sent)
    expect(sentParts, is: cell.sentParts, place)
    try await expectCounts(scene, cell, isInDoubt: step != nil && !cell.continues, place)
    expect(try await scene.problems(), is: [], place)
    guard cell.command != .cancel else {
      let record = try await scene.campaign()
      expect(([record] + record.parts).allSatisfy { $0.times.finishedAt != nil }, place)
      expect(try await scene.states(), is: cell.states, place)
      return row(cell, after, sentParts, "no other user gets it")
    }

    if cell.command == .pause {
      expect(try await campaigns.resume("a", unguarded: false, by: "grace").state != .paused, place)
    }
    try await scene.finish()
    try await expectEnd(scene, place)
    return row(cell, after, sentParts, "each user once")
  }

  private static func row(_ cell: Cell, _ states: String, _ sent: [String], _ end: String) -> [String] {
    let command = cell.command.rawValue + (cell.isRefused ? ": refused" : "")
    return [
      cell.kind.rawValue, cell.moment.rawValue, command, states, sent.isEmpty ? "none" : sent.joined(separator: ", "),
      end,
    ]
  }

  /// Carries out the command of a person.
  private static func carryOut(_ cell: Cell, _ campaigns: Campaigns) async throws {
    switch cell.command {
    case .pause: _ = try await campaigns.controlEverywhere("a", .pause, by: "grace", lease: 1000)
    case .cancel: _ = try await campaigns.controlEverywhere("a", .cancel, by: "grace", lease: 1000)
    case .resume: _ = try await campaigns.resume("a", unguarded: false, by: "grace")
    case .approve, .needlessApproval: _ = try await campaigns.approve("a", by: "grace")
    }
  }

  private static func expectUnapproved(_ place: Comment, _ body: () async throws -> Void) async {
    let error = await #expect(throws: StoreError.self, place) { try await body() }
    expect(error?.code, is: .unapproved, place)
  }

  /// Returns the names of the parts whose pushes were sent since then, in their order.
  private static func newParts(_ now: [String: [String: Int]], since then: [String: [String: Int]]) -> [String] {
    now.filter { $0.value != then[$0.key] }.keys.sorted().map(ControlScene.name)
  }

  /// Expects that the reported counts of each part agree with its pushes, and the campaign's counts with its stages.
  ///
  /// - Parameter isInDoubt: whether a worker died and left a push without an answer.
  private static func expectCounts(
    _ scene: ControlScene, _ cell: Cell, isInDoubt: Bool, _ place: Comment
  ) async throws {
    let record = try await scene.campaign()
    for part in record.parts {
      let name: Comment = "\(place), \(part.id)"
      let doubts = isInDoubt && scene.doubtful?.part == part.id ? 1 : 0
      let pushed = scene.pushes[part.id]?.count ?? 0
      let outcomes = part.counters.outcomes
      expect(outcomes[.accepted] ?? 0 == pushed - doubts, name)
      if cell.command == .cancel {
        expect(outcomes[.unknown] ?? 0 == doubts && part.counters.inDoubt == 0, name)
        let others = part.counters.targets - pushed
        expect(outcomes[.cancelled] ?? 0 == others, name)
        expect(others == 0 || cell.runningParts.contains(ControlScene.name(of: part.id)), name)
      } else {
        expect(outcomes.filter { $0.value > 0 }.keys.allSatisfy { $0 == .accepted }, name)
        expect(part.counters.inDoubt, is: doubts, name)
      }
    }
    guard !record.parts.isEmpty else { return }
    var sum = SliceCounters()
    for part in record.parts where CampaignID(part.id).part?.isStage == true { sum += part.counters }
    expect(record.counters.targets == sum.targets && record.counters.outcomes == sum.outcomes, place)
  }

  /// Expects that the campaign is completed, and that each user got one push from each leg and companion.
  private static func expectEnd(_ scene: ControlScene, _ place: Comment) async throws {
    let record = try await scene.campaign()
    expect(([record] + record.parts).allSatisfy { $0.state == .completed && $0.times.finishedAt != nil }, place)
    var reached: [String: [String]] = [:]
    for part in record.parts {
      let users = scene.pushes[part.id] ?? [:]
      for (user, count) in users where count != 1 {
        expect(count == 2 && scene.doubtful.map { $0 == (part.id, user) } == true, "\(place), \(part.id), \(user)")
      }
      expect(part.counters.outcomes, is: users.isEmpty ? [:] : [.accepted: users.count], "\(place), \(part.id)")
      expect(part.counters.targets == users.count && part.counters.inDoubt == 0, "\(place), \(part.id)")
      let kind = "\(part.service) \(CampaignID(part.id).part?.companion.map { "\($0)" } ?? "")"
      reached[kind, default: []] += users.keys
    }
    let everybody = (0..<ControlScene.users).map { "u\($0)" }.sorted()
    for (kind, users) in reached { expect(users.sorted(), is: everybody, "\(place), \(kind)") }
    expect(reached.count, is: scene.kind == .also || scene.kind.hasLegs ? 2 : 1, place)
    if scene.kind == .winner { expect(record.parts.last?.staging.variant, is: 1, place) }
    expect(try await scene.problems(), is: [], place)
  }
}
