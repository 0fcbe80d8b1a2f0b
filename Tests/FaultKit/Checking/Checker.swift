import CampaignStore
import PushCore
import TestSupport

/// The checker of all cases. It compares the exported ledger with the requests that the simulators received, and finds
/// leftovers.
///
/// The rules, for every campaign that was submitted since the last check:
///
/// 1. It ended in the state that the case expects, and every expected target has exactly one outcome. The outcomes in
///    the export, those in `campaign show`, and the number of targets agree.
/// 2. For a target that is `accepted`, a request with its `apns-id` and token was answered with 200.
/// 3. A target whose push was answered with 200 is `accepted`, or `unknown` if that is allowed: with `skip`, in a
///    cancelled campaign, or for poison. So no target that ended as `cancelled` got a push. If no worker died with an
///    unrecorded answer, the target must be `accepted`.
/// 4. A *delivery* is a request, received in full, that was answered with 200 or not at all. Any other answer (503, 429
///    …) means that nothing was delivered, and the ledger contains the retry. Σ (deliveries − 1) over the targets with
///    a delivery is at most the bound of the injections. With `skip` it is 0 for every target.
/// 5. No push was sent to a device that was not a target, or for a campaign that had ended before.
/// 6. If the simulator logs bodies, a resent push has exactly the same bytes as the first one.
/// 7. A target of an erased user has neither token nor `apns-id` in the export. The export has at most as many such
///    targets as users were erased, and their outcomes are included in the sums.
/// 8. Only permitted keys remain in the store: see ``Leftovers``. `store check` finds no inconsistency in them.
struct Checker {
  struct Verdict {
    var violations: [String] = []
    var duplicates = 0
    var campaigns = 0
    var targets = 0
  }

  let world: FaultWorld
  /// Number of duplicates allowed, over all checked campaigns.
  let bound: Int

  func check() async throws -> Verdict {
    var verdict = Verdict()
    let logs = try world.uncheckedLogs()
    let requests = Dictionary(grouping: logs.values.flatMap(\.requests), by: \.id)
    var known: Set<String> = []
    for campaign in world.campaigns { known.formUnion(try await check(campaign, requests, &verdict)) }
    let erased = world.erased
    let unknown = requests.keys.filter { !known.contains($0) }.filter { id in
      // An `apns-id` that is not in the export may belong to the target of an erased user.
      guard requests[id, default: []].allSatisfy({ erased.contains($0.token) }) else { return true }
      verdict.duplicates += max(0, requests[id, default: []].count(where: \.isDelivery) - 1)
      return false
    }
    if let first = unknown.first {
      verdict.violations.append(
        "\(unknown.count) requests belong to no campaign, or came after their campaign's end, such as \(first)")
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
        findings.add("has a push to a wrong target", first.token)
      }
      if Set(requests[result.id, default: []].map(\.body)).count > 1 {
        findings.add("has a resent push with other content", result.token)
      }
      verdict.duplicates += max(0, requests[result.id, default: []].count(where: \.isDelivery) - 1)
    }
    verdict.campaigns += 1
    verdict.targets += results.count
    verdict.violations += findings.lines
    return results.lazy.filter { !$0.token.isEmpty }.map(\.id)
  }

  /// Checks rule 1.
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
      findings.add("still has targets that are pending, in doubt or retrying: \(show)")
    }
    var seen: Set<String> = []
    let whole = results.filter { !$0.token.isEmpty }
    if results.count - whole.count > world.erased.count {
      findings.add("has more erased targets than users were erased")
    }
    for result in whole where !seen.insert(result.token).inserted { findings.add("has a target twice", result.token) }
    let expected = Set(campaign.tokens ?? world.tokens + world.androidTokens)
    for token in seen.subtracting(expected) { findings.add("has a target outside the audience", token) }
    // If a campaign is cancelled, its slices that are not sealed yet end without targets.
    guard campaign.end != "cancelled" else { return }
    for token in expected.subtracting(seen).subtracting(campaign.mayBeLeftOut) {
      findings.add("lacks a target", token)
    }
  }

  /// Checks rules 2 to 4.
  private func check(
    _ result: ExportedResult, of campaign: FaultCampaign, deliveries: [SimulatorLog.Request],
    _ findings: inout Findings
  ) {
    let isAnswered = deliveries.contains { $0.status == 200 }
    switch result.outcome {
    case "": findings.add("has a target without an outcome", result.token)
    case "accepted": if !isAnswered { findings.add("records accepted without an answer", result.token) }
    case "unknown":
      let isAllowed =
        campaign.ambiguity == .skip || campaign.end == "cancelled" || campaign.mayBeUnknown.contains(result.token)
      if !isAllowed { findings.add("records unknown where this is not allowed", result.token) }
      if isAnswered, campaign.losesNoAnswer { findings.add("lacks recorded answers", result.token) }
    case let outcome: if isAnswered { findings.add("records \(outcome) for a push that was accepted", result.token) }
    }
    if campaign.ambiguity == .skip, deliveries.count > 1 {
      findings.add("sent a push more than once in spite of skip", result.token)
    }
  }
}

/// Violations of a campaign: a line for each kind, with the count and some examples.
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
