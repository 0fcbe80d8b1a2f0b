import CampaignStore
import PushCore
import TestSupport

/// The judge of all cases: holds the ledger, as the program exports it, against what the simulators received, and looks
/// for anything left behind.
///
/// The rules, for every campaign that was submitted since the last check:
///
/// 1. It ended in the state that the case says, and every target it must have has exactly one outcome; the outcomes of
///    the export, of `campaign show` and the number of targets agree.
/// 2. `accepted` means a request with its `apns-id` and token that was answered with 200.
/// 3. A 200 means `accepted`, or `unknown` where that is allowed: with `skip`, in a cancelled campaign, for poison. So
///    what ended as `cancelled` was never delivered. Where nobody died who knew of an answer, it means `accepted`.
/// 4. A *delivery* is a request, received in full, that was answered with 200 or not at all. Any other answer (503,
///    429 …) says that nothing was delivered, and the ledger knows of the retry. Σ (deliveries − 1) over the targets
///    that had one is at most the bound that follows from the injections. With `skip` it is 0 for every target.
/// 5. Nothing was sent to anybody who was not a target, nor for a campaign that had ended before.
/// 6. What is sent again is the same push, byte for byte, where the simulator writes down what pushes say.
/// 7. A target of a user who was erased has neither token nor `apns-id` in the export. There are no more of them than users
///    were erased, and their outcomes add up with the others.
/// 8. Of the store's keys those remain that are to remain: see ``Leftovers``. They agree with each other, as `store check`
///    sees it.
struct Checker {
  struct Verdict {
    var violations: [String] = []
    var duplicates = 0
    var campaigns = 0
    var targets = 0
  }

  let world: FaultWorld
  /// Duplicates allowed, over all campaigns being checked.
  let bound: Int

  func check() async throws -> Verdict {
    var verdict = Verdict()
    let logs = try world.uncheckedLogs()
    let requests = Dictionary(grouping: logs.values.flatMap(\.requests), by: \.id)
    var known: Set<String> = []
    for campaign in world.campaigns { known.formUnion(try await check(campaign, requests, &verdict)) }
    let erased = world.erased
    let unknown = requests.keys.filter { !known.contains($0) }.filter { id in
      // The export has no `apns-id` of an erased target.
      guard requests[id, default: []].allSatisfy({ erased.contains($0.token) }) else { return true }
      verdict.duplicates += max(0, requests[id, default: []].count(where: \.isDelivery) - 1)
      return false
    }
    if let first = unknown.first {
      verdict.violations.append(
        "\(unknown.count) requests are nobody's, or came after their campaign's end, such as \(first)")
    }
    world.setChecked(logs)
    if verdict.duplicates > bound {
      verdict.violations.append("\(verdict.duplicates) duplicates; the injections allow \(bound)")
    }
    verdict.violations += try await Leftovers(world: world).find()
    _ = try await world.store.repair.check { findings in
      verdict.violations += findings.prefix(10).map { "store check: \($0.key) \($0.subject): \($0.problem)" }
    }
    return verdict
  }

  private func check(
    _ campaign: FaultCampaign, _ requests: [String: [SimulatorLog.Request]], _ verdict: inout Verdict
  ) async throws -> [String] {
    let csv = try await world.succeed("results", "export", campaign.id, "--format", "csv")
    let results = try ExportedResult.all(in: csv)
    let show = try JSONObject(await world.succeed("campaign", "show", campaign.id, "--json"))
    var findings = Findings(campaign: campaign.id)
    checkSums(campaign, results, show, &findings)
    for result in results where !result.token.isEmpty {
      check(result, of: campaign, deliveries: requests[result.id, default: []].filter(\.isDelivery), &findings)
      if let first = requests[result.id]?.first(where: { $0.token != result.token }) {
        findings.add("sent to another than its target", first.token)
      }
      if Set(requests[result.id, default: []].map(\.body)).count > 1 {
        findings.add("said something else when it was sent again", result.token)
      }
      verdict.duplicates += max(0, requests[result.id, default: []].count(where: \.isDelivery) - 1)
    }
    verdict.campaigns += 1
    verdict.targets += results.count
    verdict.violations += findings.lines
    return results.lazy.filter { !$0.token.isEmpty }.map(\.id)
  }

  /// Rule 1.
  private func checkSums(
    _ campaign: FaultCampaign, _ results: [ExportedResult], _ show: JSONObject, _ findings: inout Findings
  ) {
    let state = show.text("state") ?? "no state"
    if state != campaign.end { findings.add("is \(state), not \(campaign.end)") }
    let histogram = Dictionary(grouping: results, by: \.outcome).mapValues(\.count)
    let shown = show.object("outcomes")?.numbers ?? [:]
    if histogram != shown { findings.add("exports \(histogram), and shows \(shown)") }
    let targets = show.number("targets") ?? -1
    if targets != results.count { findings.add("shows \(targets) targets, and exports \(results.count)") }
    if show.number("inDoubt") != 0 || show.number("pending") != 0 || show.number("retrying") != 0 {
      findings.add("still has something pending, in doubt or retrying: \(show)")
    }
    var seen: Set<String> = []
    let whole = results.filter { !$0.token.isEmpty }
    if results.count - whole.count > world.erased.count {
      findings.add("has more erased targets than users were erased")
    }
    for result in whole where !seen.insert(result.token).inserted { findings.add("has a target twice", result.token) }
    let expected = Set(campaign.tokens ?? world.tokens)
    for token in seen.subtracting(expected) { findings.add("has a target that is none", token) }
    // A cancelled campaign's slices end without targets where they had not been sealed.
    guard campaign.end != "cancelled" else { return }
    for token in expected.subtracting(seen).subtracting(campaign.mayBeLeftOut) {
      findings.add("has lost a target", token)
    }
  }

  /// Rules 2 to 4.
  private func check(
    _ result: ExportedResult, of campaign: FaultCampaign, deliveries: [SimulatorLog.Request],
    _ findings: inout Findings
  ) {
    let isAnswered = deliveries.contains { $0.status == 200 }
    switch result.outcome {
    case "": findings.add("has a target without an outcome", result.token)
    case "accepted": if !isAnswered { findings.add("has accepted what never was", result.token) }
    case "unknown":
      let isAllowed =
        campaign.ambiguity == .skip || campaign.end == "cancelled" || campaign.mayBeUnknown.contains(result.token)
      if !isAllowed { findings.add("does not know of a target", result.token) }
      if isAnswered, campaign.losesNoAnswer { findings.add("does not know of an answer", result.token) }
    case let outcome: if isAnswered { findings.add("has \(outcome) for what was accepted", result.token) }
    }
    if campaign.ambiguity == .skip, deliveries.count > 1 { findings.add("was to send at most once", result.token) }
  }
}

/// What is wrong with a campaign: a line for every kind, with how many and some examples.
struct Findings {
  let campaign: String
  private var examples: [String: [String]] = [:]
  private var counts: [String: Int] = [:]

  init(campaign: String) { self.campaign = campaign }

  mutating func add(_ what: String, _ example: String = "") {
    counts[what, default: 0] += 1
    if examples[what, default: []].count < 3 { examples[what, default: []].append(example) }
  }

  var lines: [String] {
    counts.sorted { $0.key < $1.key }.map { what, count in
      let some = examples[what, default: []].filter { !$0.isEmpty }.joined(separator: " ")
      return "campaign \(campaign) \(what)" + (some.isEmpty ? "" : ": \(count), such as \(some)")
    }
  }
}
