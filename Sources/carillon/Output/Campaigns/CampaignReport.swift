import CampaignStore
import CommandSupport
import Foundation
import PushCore

/// The report of a campaign, as text for people and as JSON.
struct CampaignReport: JSONReport {
  let record: CampaignRecord
  /// The audience; `nil` if it was not read.
  var audience: AudienceReport?
  /// Counts of receipts; `nil` if they were not read.
  var receipts: [ReceiptEvent.Kind: Int]?
  /// The variants with their results; `nil` if there are none, or if they were not read.
  var variants: VariantsReport?
  /// The gate before the next stage; `nil` if there is none, or if it was not read.
  var gate: Gate?
  /// The runs of a recurring campaign that have not ended, the oldest first; `nil` if they were not read.
  var openRuns: [OpenRun]?
  /// The status of the app's backend if it is unhealthy and throttles the campaign; `nil` otherwise.
  var backend: BackendStatus?
  /// The time of the report, in ms since 1970.
  var now = Int(Date().timeIntervalSince1970 * 1000)

  init(_ record: CampaignRecord) {
    self.record = record
  }

  /// The gate that follows the stage that started last.
  struct Gate {
    /// The number of the stage before the gate.
    let stage: Int
    /// The earliest opening time, in ms since 1970; `nil` while the stage has targets without an outcome.
    let opensAt: Int?

    /// - Returns: `nil` if all stages have started or the campaign has ended.
    init?(_ record: CampaignRecord, _ stages: CampaignStages?) {
      guard let stages, let place = record.staging.current, stages.all.indices.contains(place),
        record.times.finishedAt == nil,
        !record.state.isFinal, record.stages.indices.contains(place)
      else { return nil }
      stage = place + 1
      opensAt = record.stages[place].times.finishedAt.map { $0 + stages.all[place].wait * 1000 }
    }

    var text: String {
      opensAt.map { "after stage \(stage), opens at \(Timestamp.format(milliseconds: $0)) or later" }
        ?? "after stage \(stage), which still has targets without an outcome"
    }
  }

  /// Number of targets with an outcome.
  var done: Int { record.counters.outcomes.values.reduce(0, +) }

  /// The number of targets: exact if all slices are sealed, otherwise extrapolated from the sealed slices. `nil` before
  /// the first sealed slice.
  var total: (count: Int, isFinal: Bool)? {
    let (targets, sealed, slices) = (record.counters.targets, record.slices.sealed, record.slices.total)
    if sealed >= slices || record.times.finishedAt != nil { return (targets, true) }
    return sealed > 0 ? (targets * slices / sealed, false) : nil
  }

  /// Outcomes with counts, in the order of ``PushCore/Outcome``.
  private var outcomes: [(name: String, count: Int)] {
    Outcome.allCases.compactMap { outcome in record.counters.outcomes[outcome].map { (outcome.name, $0) } }
  }

  /// Writes the JSON object of the API.
  func writeMembers(to json: inout JSONWriter) {
    json.member("id", record.id)
    json.member("state", record.state.rawValue)
    json.member("reason", record.reason)
    if !record.pausedLegs.isEmpty { json.array("pausedServices", record.pausedLegs.map(\.service)) }
    if record.approval.isNeeded { json.member("needsApproval", true) }
    if record.approval.isNeeded, let message = audience?.message { json.member("text", message) }
    if let person = record.approval.submittedBy { json.member("submittedBy", person) }
    if let person = record.approval.approvedBy { json.member("approvedBy", person) }
    json.member("app", record.app)
    json.member("lane", record.lane.rawValue)
    if let audience {
      json.name("audience")
      audience.write(to: &json)
      if let category = audience.category { json.member("category", category) }
      if audience.isTransactional { json.member("transactional", true) }
    }
    writeRate(to: &json)
    if let backend, audience?.isTransactional != true {
      json.object("backend") { json in
        json.member("share", backend.share)
        json.member("since", backend.since.map(Timestamp.format(milliseconds:)))
        json.member("reason", backend.reason)
      }
    }
    json.member("targets", record.counters.targets)
    json.member("estimate", record.waitsForApproval ? record.approval.estimate?.targets : total?.count)
    json.object("outcomes") { json in
      for outcome in outcomes { json.member(outcome.name, outcome.count) }
    }
    json.member("pending", record.pending)
    json.member("inDoubt", record.counters.inDoubt)
    json.member("retrying", record.counters.retrying)
    if record.counters.later > 0 {
      json.object("ownTime") { json in
        json.member("waiting", record.counters.later)
        json.member("next", record.times.next.map(Timestamp.format(milliseconds:)))
      }
    }
    if let repetition = record.repetition {
      json.object("repeat") { json in
        json.member("cron", repetition.schedule)
        json.member("next", record.state.isFinal ? nil : record.times.sendAt.map(Timestamp.format(milliseconds:)))
        json.member("runs", repetition.runs)
        json.member("leftOut", repetition.leftOut)
        json.member("last", repetition.lastRun)
        if let openRuns { json.objects("open", openRuns) { json, run in run.write(to: &json) } }
      }
    }
    json.member("pruned", record.counters.pruned)
    json.member("quarantined", record.counters.quarantined)
    json.member("resent", record.counters.resent)
    if record.counters.control > 0 { json.member("control", record.counters.control) }
    writeReach(to: &json)
    if !record.parts.isEmpty {
      json.objects("parts", record.parts) { json, part in
        json.member("id", part.id)
        json.member("service", CampaignID(part.id).part?.service)
        CampaignReport(part).writeProgress(to: &json)
      }
    }
    if let gate {
      json.object("gate") { json in
        json.member("stage", gate.stage)
        json.member("opensAt", gate.opensAt.map(Timestamp.format(milliseconds:)))
      }
    }
    if let receipts {
      json.object("receipts") { json in
        for kind in ReceiptEvent.Kind.allCases { json.member(kind.rawValue, receipts[kind] ?? 0) }
      }
    }
    variants?.write(to: &json)
    json.object("slices") { json in
      json.member("done", record.slices.finished)
      json.member("sealed", record.slices.sealed)
      json.member("total", record.slices.total)
    }
    record.waiting?.write(to: &json)
    json.member("createdAt", Timestamp.format(milliseconds: record.times.createdAt))
    json.member("sendAt", record.times.sendAt.map(Timestamp.format(milliseconds:)))
    json.member("startedAt", record.times.startedAt.map(Timestamp.format(milliseconds:)))
    json.member("finishedAt", record.times.finishedAt.map(Timestamp.format(milliseconds:)))
  }

  /// Writes the state, the counts and the times of a part or run as members of its JSON object.
  func writeProgress(to json: inout JSONWriter) {
    json.member("state", record.state.rawValue)
    json.member("reason", record.reason)
    json.member("targets", record.counters.targets)
    json.outcomes(record.counters.outcomes)
    record.waiting?.write(to: &json)
    json.member("startedAt", record.times.startedAt.map(Timestamp.format(milliseconds:)))
    json.member("finishedAt", record.times.finishedAt.map(Timestamp.format(milliseconds:)))
  }

  /// The complete report as text for people.
  var text: String {
    let counters = record.counters
    var rows: [(String, String)] = [
      ("campaign", record.id), ("state", standing),
      ("app", record.app), ("lane", record.lane.rawValue),
    ]
    if let person = record.approval.submittedBy { rows.append(("submitted by", person)) }
    if let person = record.approval.approvedBy { rows.append(("approved by", person)) }
    if let audience { rows.append(("audience", audience.text)) }
    if record.waitsForApproval {
      if let message = audience?.message { rows.append(("text", message)) }
      if let estimate = record.approval.estimate { rows.append(("estimate", estimate.text)) }
    }
    rows += rateRows
    if let backend, audience?.isTransactional != true {
      let since = backend.since.map { " since " + Timestamp.format(milliseconds: $0) } ?? ""
      rows.append(
        (
          "backend",
          "unhealthy\(since), so the campaign is throttled to \(backend.share) of the backend's rate: "
            + (backend.reason ?? "")
        ))
    }
    rows.append(("targets", counters.targets.grouped))
    if let waiting = record.waiting { rows.append(("waiting", waiting.text)) }
    rows += reachRows
    rows += outcomes.map { ("  " + $0.name, $0.count.grouped) }
    rows.append(("pending", record.pending.grouped))
    if counters.inDoubt > 0 { rows.append(("  in doubt", counters.inDoubt.grouped)) }
    if counters.retrying > 0 { rows.append(("  retrying", counters.retrying.grouped)) }
    if counters.later > 0 {
      let next = record.times.next.map { ", the next at " + Timestamp.format(milliseconds: $0) } ?? ""
      rows.append(("  waiting for local time", counters.later.grouped + next))
    }
    if let repetition = record.repetition {
      rows.append(("repeated", repetition.schedule))
      rows.append(("runs", repetition.runs.grouped + (repetition.lastRun.map { ", the latest is " + $0 } ?? "")))
      if repetition.leftOut > 0 { rows.append(("skipped runs", repetition.leftOut.grouped)) }
      rows += (openRuns ?? []).map { ("open run", $0.text) }
    }
    for (name, count) in [
      ("pruned", counters.pruned), ("quarantined", counters.quarantined), ("resent", counters.resent),
    ] where count > 0 {
      rows.append((name, count.grouped))
    }
    for part in record.parts {
      rows.append((Self.label(of: part), CampaignReport(part).partText))
    }
    if let gate { rows.append(("gate", gate.text)) }
    for kind in ReceiptEvent.Kind.allCases {
      if let count = receipts?[kind], count > 0 { rows.append((kind.rawValue, "\(count.grouped) users")) }
    }
    rows += variants?.rows ?? []
    rows.append(("slices", "\(record.slices.finished.grouped) of \(record.slices.total.grouped) done"))
    rows.append(("created", Timestamp.format(milliseconds: record.times.createdAt)))
    if let sendAt = record.times.sendAt { rows.append(("send at", Timestamp.format(milliseconds: sendAt))) }
    if let startedAt = record.times.startedAt { rows.append(("started", Timestamp.format(milliseconds: startedAt))) }
    if let finishedAt = record.times.finishedAt {
      rows.append(("finished", Timestamp.format(milliseconds: finishedAt)))
      if let speed = averageSpeed { rows.append(("speed", "\(speed.grouped) per second")) }
    }
    return TextTable(rows.map { [$0.0, Excerpt.harmless($0.1)] }).text
  }

  /// Returns the label of a part's row: in a campaign without stages, a part is a leg.
  private static func label(of part: CampaignRecord) -> String {
    guard let place = CampaignID(part.id).part, place.isStage else { return "also" }
    if case .main = place.stage { return "leg" }
    return "stage"
  }

  /// The state and the progress of a part or run of a campaign.
  var partText: String {
    var text = record.id + " " + record.state.rawValue
    if !record.staging.isGated { text += ": " + ([progress] + outcomeTexts).joined(separator: ", ") }
    if let reason = record.reason { text += "; \(reason)" }
    if let waiting = record.waiting { text += "; waiting: \(waiting.text)" }
    return text
  }

  private var outcomeTexts: [String] { outcomes.map { "\($0.name) \($0.count.grouped)" } }

  /// The state, with the start time of a scheduled campaign and the paused legs of a running one.
  var state: String {
    let paused = record.pausedLegs.map(\.service)
    guard record.state == .scheduled, let sendAt = record.times.sendAt else {
      return record.state.rawValue + (paused.isEmpty ? "" : ", \(paused.joined(separator: " and ")) paused")
    }
    let next = record.repetition == nil ? "scheduled for" : "recurring, the next run at"
    return "\(next) \(Timestamp.format(milliseconds: sendAt))"
  }

  /// The state with its reason.
  var standing: String { state + (record.reason.map { ": " + $0 } ?? "") }

  /// One line with state and progress.
  var line: String {
    var parts = ["\(record.id) \(Excerpt.harmless(standing))"]
    if record.state != .scheduled {
      parts.append(progress)
      parts += outcomeTexts
    }
    if let waiting = record.waiting { parts.append("waiting: \(Excerpt.harmless(waiting.text))") }
    return parts.joined(separator: "  ")
  }

  /// Number of targets with an outcome, and their share of all targets.
  var progress: String {
    guard let total else { return done.grouped }
    return "\(done.grouped) of \(total.isFinal ? "" : "about ")\(total.count.grouped)"
      + (total.count > 0 ? " (\(done * 100 / total.count)%)" : "")
  }

  /// Average targets per second from the first slice to the last; `nil` before the end.
  private var averageSpeed: Int? {
    guard let startedAt = record.times.startedAt, let finishedAt = record.times.finishedAt, finishedAt > startedAt
    else {
      return nil
    }
    return record.counters.targets * 1000 / (finishedAt - startedAt)
  }
}

extension Reached {
  /// The numbers of users and pushes, as text for people.
  var text: String {
    let users = users.map { "\($0.grouped) \($0 == 1 ? "user" : "users"), " } ?? ""
    return "\(users)\(targets.grouped) \(targets == 1 ? "push" : "pushes")"
  }
}
