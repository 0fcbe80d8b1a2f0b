@testable import CampaignStore
import PushCore
import TestSupport

/// Expected state of a campaign with parts, by the rules of `Sources/CampaignStore/README.md`.
///
/// The model has one method for each call of the store. It uses neither Redis nor the scripts. The caller supplies
/// everything that depends on time.
struct PartModel {
  /// Properties of a job on which parts depend.
  struct Job {
    /// Conditions of a gate.
    struct Gate {
      /// Whether the gate opens an hour after the end of its stage.
      var waits: Bool
      var needsApproval: Bool
      /// Whether one refused push pauses the campaign.
      var allowsNoFailure: Bool
    }

    /// One gate for each stage. The rest of the audience follows the last one.
    var gates: [Gate]
    var hasCompanion: Bool
    /// Whether the campaign begins an hour after its activation.
    var isScheduled: Bool
    var needsApproval: Bool
    static let submitter = "ada"

    /// Creates a random job with up to three stages.
    init(using seed: inout Seed) {
      func once(in number: Int) -> Bool { Int.random(in: 0..<number, using: &seed) == 0 }
      hasCompanion = once(in: 2)
      gates = (0..<Int.random(in: hasCompanion ? 0...3 : 1...3, using: &seed)).map { _ in
        Gate(waits: once(in: 4), needsApproval: once(in: 4), allowsNoFailure: once(in: 2))
      }
      isScheduled = once(in: 3)
      needsApproval = once(in: 4)
    }

    /// Returns the members of the job, for ``TestStore/job(_:audience:_:)``.
    func members(sendAt: Int) -> String {
      var members = #","submittedBy":"\#(Self.submitter)""#
      let stages = gates.map {
        #"{"share":0.2\#($0.waits ? #","wait":"1h""# : "")\#($0.needsApproval ? #","approval":true"# : "")"#
          + ($0.allowsNoFailure ? #","maxFailures":0}"# : "}")
      }
      if !stages.isEmpty { members += #","stages":[\#(stages.joined(separator: ","))]"# }
      if hasCompanion { members += #","also":["widgets"]"# }
      if isScheduled { members += #","sendAt":"\#(Timestamp.format(milliseconds: sendAt))""# }
      return members
    }
  }

  /// One part.
  struct Part {
    let name: String
    /// The place of its stage.
    let place: Int
    let isStage: Bool
    var state: CampaignState
    var isGated: Bool
    var hasBegun = false
    var hasEnded = false
    /// Whether an hour has passed since its end.
    var isWaitOver = false
    /// Partitions whose slices have ended.
    var counted: Set<Int> = []
    var accepted = 0
    var refused = 0
  }

  /// Result of a check of a gate.
  enum Verdict: Equatable {
    case unfinished, wait, open
    case pause(needsApproval: Bool)
  }

  /// Time of the next check of a gate.
  enum Check: String {
    case now, later
  }

  let job: Job
  private let partitions: [Int]
  private(set) var parts: [Part]
  private(set) var state: CampaignState
  private(set) var hasEnded = false
  private(set) var round = 0
  private(set) var epoch = 0
  private(set) var stage = 0
  private(set) var gate: Check?
  /// The state changes that webhooks get.
  private(set) var changes: [CampaignState]
  private var hasBegun = false
  private var isDue: Bool
  private var isPausedByWorker = false
  private var verdict: Int?
  private var overridden: Int?
  private var approval: String?
  private var approver: String?
  /// Ended parts, or `campaign`, whose end was not handled because a worker died.
  private(set) var unhandled: Set<String> = []

  /// Creates an activated campaign.
  ///
  /// - Parameter partitions: the partitions in which it has slices.
  init(_ job: Job, partitions: [Int]) {
    (self.job, self.partitions) = (job, partitions)
    isDue = !job.isScheduled
    let begins: CampaignState = job.needsApproval ? .paused : job.isScheduled ? .scheduled : .active
    state = begins
    changes = [begins]
    hasBegun = begins == .active
    approval = job.needsApproval ? "needed" : nil
    gate = job.gates.isEmpty ? nil : job.isScheduled ? .later : .now
    parts = (0...job.gates.count).flatMap { place in
      let stage = job.gates.isEmpty ? "main" : place < job.gates.count ? "\(place + 1)" : "rest"
      return (job.hasCompanion ? ["", ".widgets"] : [""]).map { companion in
        Part(
          name: stage + companion, place: place, isStage: companion.isEmpty,
          state: place == 0 || job.needsApproval ? begins : .waiting, isGated: place > 0,
          hasBegun: place == 0 && begins == .active)
      }
    }
  }

  /// The present verdict of the gate after the current stage; `nil` if no gate follows.
  var gateVerdict: Verdict? {
    guard stage < job.gates.count, let part = parts.first(where: { $0.place == stage && $0.isStage }) else {
      return nil
    }
    let gate = job.gates[stage]
    guard part.hasEnded else { return .unfinished }
    guard part.isWaitOver || !gate.waits else { return .wait }
    if overridden == stage { return .open }
    let isBad = gate.allowsNoFailure && (part.refused > 0 || part.accepted == 0)
    return isBad || gate.needsApproval ? .pause(needsApproval: gate.needsApproval) : .open
  }

  // MARK: Calls

  /// Pauses, resumes, approves or cancels the campaign.
  ///
  /// - Parameters:
  ///   - person: `nil` for a worker.
  ///   - needsApproval: whether only an approval resumes the campaign.
  ///   - known: the generation that the worker has read; `nil` for any.
  ///   - dies: whether the caller dies before it handles the parts that this call ends.
  mutating func control(
    _ verb: ControlVerb, by person: String?, round known: Int? = nil, gate: Int? = nil, needsApproval: Bool = false,
    dies: Bool = false
  ) {
    change(verb, by: person, round: known, gate: gate, needsApproval: needsApproval, dies: dies)
    // If a worker died before it handled the last part of a cancelled campaign, the next caller ends the campaign.
    guard state == .cancelled, !hasEnded, parts.allSatisfy(\.hasEnded) else { return }
    end()
    if dies { unhandled.insert("campaign") }
  }

  private mutating func change(
    _ verb: ControlVerb, by person: String?, round known: Int?, gate: Int?, needsApproval: Bool, dies: Bool
  ) {
    if let known, round > known { return }
    // The gate has opened in the meantime.
    if let gate, gate != stage { return }
    epoch += 1
    switch verb {
    case .pause where state == .active || state == .scheduled:
      enter(.paused, by: person)
      for place in parts.indices where !parts[place].state.isFinal { parts[place].state = .paused }
      if needsApproval { approval = "needed" }
      if let gate { verdict = gate }
    case .resume where state == .paused && approval != "needed": resume(by: person)
    case .approve where state == .paused && approval == "needed":
      guard let person, !person.isEmpty, person != Job.submitter else { return }
      (approval, approver) = ("given", person)
      resume(by: person)
    case .cancel where !state.isFinal: cancel(by: person, dies: dies)
    default: break
    }
  }

  private mutating func enter(_ state: CampaignState, by person: String?) {
    self.state = state
    changes.append(state)
    isPausedByWorker = state == .paused && person == nil
  }

  private mutating func resume(by person: String?) {
    round += 1
    enter(hasBegun || isDue ? .active : .scheduled, by: person)
    hasBegun = state == .active
    for place in parts.indices where parts[place].state == .paused {
      let begins = parts[place].hasBegun || isDue
      parts[place].state = parts[place].isGated ? .waiting : begins ? .active : .scheduled
      parts[place].hasBegun = parts[place].state == .active || parts[place].hasBegun
    }
    if let verdict { overridden = verdict }
    verdict = nil
    if gate != nil { gate = .now }
  }

  private mutating func cancel(by person: String?, dies: Bool) {
    enter(.cancelled, by: person)
    var endsAny = false
    for place in parts.indices where !parts[place].state.isFinal {
      parts[place].state = .cancelled
      parts[place].hasEnded = !parts[place].hasBegun
      endsAny = endsAny || parts[place].hasEnded
    }
    if endsAny, !dies, gate != nil { gate = .now }
  }

  /// Ends a slice.
  ///
  /// - Parameter dies: whether the worker dies before it handles the end of the part.
  mutating func finish(_ place: Int, _ partition: Int, accepted: Int, refused: Int, dies: Bool) {
    guard parts[place].counted.insert(partition).inserted else { return }
    parts[place].accepted += accepted
    parts[place].refused += refused
    guard parts[place].counted.count == partitions.count else { return }
    if parts[place].state != .cancelled {
      parts[place].state = Self.result(accepted: parts[place].accepted, refused: parts[place].refused)
    }
    parts[place].hasEnded = true
    if dies { unhandled.insert(parts[place].name) } else { endPart(place) }
  }

  private static func result(accepted: Int, refused: Int) -> CampaignState {
    refused > 0 && accepted == 0 ? .failed : .completed
  }

  /// Handles the end of a part.
  mutating func endPart(_ place: Int) {
    unhandled.remove(parts[place].name)
    guard !hasEnded else {
      unhandled.remove("campaign")
      return
    }
    if gate != nil { gate = .now }
    guard parts.allSatisfy(\.hasEnded) else { return }
    if state != .cancelled {
      let stages = parts.filter(\.isStage)
      state = Self.result(
        accepted: stages.reduce(0) { $0 + $1.accepted }, refused: stages.reduce(0) { $0 + $1.refused })
      changes.append(state)
    }
    end()
  }

  private mutating func end() {
    hasEnded = true
    gate = nil
  }

  /// Begins a stage.
  ///
  /// - Returns: whether this call has begun it.
  mutating func open(_ place: Int) -> Bool {
    guard state == .active, place == stage + 1 else { return false }
    stage = place
    for index in parts.indices where parts[index].place == place {
      (parts[index].state, parts[index].isGated, parts[index].hasBegun) = (.active, false, true)
    }
    (verdict, overridden) = (nil, nil)
    gate = place < job.gates.count ? .now : nil
    return true
  }

  /// Begins a stage again whose beginning Redis lost, and all lost stages before it.
  mutating func restore(_ place: Int) {
    guard state == .active || state == .paused, place > stage else { return }
    for index in parts.indices where parts[index].isGated && parts[index].place <= place {
      (parts[index].state, parts[index].isGated) = (state, false)
      parts[index].hasBegun = state == .active
    }
    stage = place
    (verdict, overridden) = (nil, nil)
    gate = place < job.gates.count ? .now : nil
  }

  /// Checks the gate.
  ///
  /// - Parameter isCurrent: whether the gate is still due at the time that the caller has read.
  /// - Returns: the verdict that was carried out; `nil` if the check is postponed.
  mutating func look(isCurrent: Bool) -> Verdict? {
    func putOff(_ look: Check?) { if isCurrent { gate = look } }
    guard !state.isFinal, let verdict = gateVerdict else {
      putOff(nil)
      return nil
    }
    guard state == .active else {
      putOff(.later)
      return nil
    }
    switch verdict {
    case .unfinished, .wait:
      putOff(.later)
      return nil
    case .pause(let needsApproval):
      control(.pause, by: nil, round: round, gate: stage, needsApproval: needsApproval)
    case .open: return open(stage + 1) ? verdict : nil
    }
    return verdict
  }

  /// Begins the parts that are due.
  ///
  /// - Returns: their names.
  mutating func promote() -> Set<String> {
    guard isDue else { return [] }
    var begun: Set<String> = []
    for place in parts.indices where parts[place].state == .scheduled {
      (parts[place].state, parts[place].hasBegun) = (.active, true)
      begun.insert(parts[place].name)
    }
    if state == .scheduled, !begun.isEmpty {
      (state, hasBegun) = (.active, true)
      changes.append(.active)
    }
    return begun
  }

  /// Restores the gate, and begins the parts that are due.
  mutating func repair() -> Set<String> {
    if !state.isFinal, gate == nil { gate = .now }
    return promote()
  }

  /// Makes Redis lose the time of the next check of the gate.
  mutating func loseGate() { gate = nil }

  /// Lets an hour pass.
  mutating func letHourPass() {
    isDue = true
    if gate != nil { gate = .now }
    for place in parts.indices where parts[place].hasEnded { parts[place].isWaitOver = true }
  }

  // MARK: Expected values

  /// Expected values in Redis, by the names that a reported difference uses.
  var facts: [String: String] {
    func text(_ number: Int?) -> String { number.map { "\($0)" } ?? "-" }
    var facts: [String: String] = [
      "state": state.rawValue, "end": "\(hasEnded)", "round": "\(round)", "epoch": "\(epoch)", "stage": "\(stage)",
      "verdict": text(verdict), "overridden": text(overridden), "paused by worker": "\(isPausedByWorker)",
    ]
    facts["approval"] = "\(approval ?? "-") \(approver ?? "-")"
    facts["gate"] = gate?.rawValue ?? "-"
    func list(_ names: some Sequence<String>) -> String { names.sorted().joined(separator: " ") }
    let running = parts.filter { $0.hasBegun && !$0.hasEnded }
    facts["lane"] = list(running.filter { $0.state != .paused }.map(\.name))
    facts["running"] = list(running.map(\.name) + (hasBegun && !hasEnded ? ["campaign"] : []))
    facts["schedule"] = list(parts.filter { $0.state == .scheduled }.map(\.name))
    facts["unhandled ends"] = list(unhandled)
    for part in parts {
      let open = part.isGated || part.hasEnded ? [] : partitions.filter { !part.counted.contains($0) }
      facts[part.name] =
        "\(part.state) end \(part.hasEnded) gated \(part.isGated) round \(round) open \(list(open.map(String.init)))"
    }
    return facts
  }
}
