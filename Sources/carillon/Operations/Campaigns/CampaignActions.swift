import CampaignStore
import CommandSupport
import PushCore
import PushWorker

/// Result of an action on a campaign, such as a pause, a resume or a cancel.
struct CampaignVerbOutcome: JSONReport {
  var id: String
  /// The push service whose legs were changed; `nil` for the whole campaign.
  var service: String?
  /// The state of the campaign, or of these legs.
  var state: CampaignState
  /// Workers that have not confirmed the change. They may continue to send until they read the new state from Redis.
  var unconfirmed: [String] = []
  /// Whether the campaign was still a job in the queue, and the cancel removed this job.
  var wasQueued = false
  /// The counts of the campaign; `nil` if it has none yet.
  var counts: CampaignCounts?
  /// The campaigns that a resume has resumed: the campaign, its legs, and the runs of a recurring campaign.
  var resumed: [ResumedCampaign] = []
  /// The campaign's parts and, for a recurring campaign, its unfinished runs, each with its state and counts.
  var others: [(id: String, state: CampaignState, counts: CampaignCounts)] = []

  func writeMembers(to json: inout JSONWriter) {
    json.member("id", id)
    if let service { json.member("service", service) }
    json.member("state", state.rawValue)
    json.array("unconfirmed", unconfirmed)
    counts?.write(to: &json)
    if !resumed.isEmpty {
      json.objects("resumed", resumed) { json, resumed in
        json.member("id", resumed.id)
        json.member("reason", resumed.reason)
      }
    }
    if !others.isEmpty {
      json.objects("parts", others) { json, other in
        json.member("id", other.id)
        json.member("state", other.state.rawValue)
        other.counts.write(to: &json)
      }
    }
  }

  /// The result as text.
  var text: String {
    let lines = others.map { "  \($0.id) \($0.state.rawValue)\($0.counts.text)" }
    let first = "\(service.map { "leg \($0) of " } ?? "")\(id) \(state.rawValue)\(counts?.text ?? "")"
    // If a person had paused the campaign itself, no line is necessary, because the command has just ended this pause.
    let pauses = resumed.filter { $0.id != id || $0.reason != nil }.map { resumed in
      "  resumed \(resumed.id), which was paused \(resumed.reason.map { "with the reason: \($0)" } ?? "without a reason")"
    }
    return ([first] + lines + pauses.map(Excerpt.harmless)).joined(separator: "\n")
  }
}

/// The targets of a campaign or part and their outcomes so far.
struct CampaignCounts {
  private let counters: SliceCounters
  private let pending: Int

  init(_ record: CampaignRecord) {
    (counters, pending) = (record.counters, record.pending)
  }

  func write(to json: inout JSONWriter) {
    json.member("targets", counters.targets)
    json.outcomes(counters.outcomes)
  }

  /// The counts as text, such as `: 43 accepted, 957 without an outcome`; empty without targets.
  var text: String {
    let outcomes = Outcome.allCases.compactMap { outcome in
      counters.outcomes[outcome].map { "\($0.grouped) \(outcome.name)" }
    }
    let all = outcomes + (pending > 0 ? ["\(pending.grouped) without an outcome"] : [])
    return all.isEmpty ? "" : ": " + all.joined(separator: ", ")
  }
}

/// Actions of a user on a campaign.
struct CampaignActions {
  let store: CampaignStore

  init(_ store: CampaignStore) {
    self.store = store
  }

  /// Pauses, resumes or cancels a campaign, and waits until the workers have confirmed the change. A cancel also
  /// removes a job that is still in the queue.
  ///
  /// - Parameter service: the push service whose legs are paused or resumed; `nil` for the whole campaign.
  /// - Throws: an error if there is no such campaign, or if its state does not allow the action.
  func carryOut(
    _ verb: ControlVerb, on id: String, reason: String = "", unguarded: Bool = false, service: String? = nil,
    by person: String = ""
  ) async throws -> CampaignVerbOutcome {
    try Self.refusePart(id, verb)
    let lease = WorkerConfiguration.standardLease
    if try await store.campaigns.find(id) == nil {
      if verb == .cancel, try await store.queue.unqueue(id, timeout: 2 * lease) {
        return CampaignVerbOutcome(id: id, state: .cancelled, wasQueued: true)
      }
      // If the queue has no such job, a worker may have activated the job in the meantime.
      guard try await store.campaigns.find(id) != nil else { throw try await CampaignLookup(store).notFound(id) }
    }
    var outcome = CampaignVerbOutcome(id: id, service: service, state: .active)
    if verb == .resume {
      (outcome.state, outcome.resumed) = try await store.campaigns.resume(
        id, unguarded: unguarded, by: person, service: service)
    } else {
      (outcome.state, outcome.unconfirmed) = try await store.campaigns.controlEverywhere(
        id, verb, reason: reason, by: person, service: service, lease: lease)
    }
    (outcome.counts, outcome.others) = try await counts(of: id)
    // A recurring campaign may end before its runs.
    let isDone =
      Self.states(wantedBy: verb).contains(outcome.state)
      || outcome.state.isFinal
        && outcome.others.contains { CampaignID($0.id).part == nil && Self.states(wantedBy: verb).contains($0.state) }
    guard isDone else {
      throw CommandError(
        .failed, "can't \(verb.rawValue) campaign \(Excerpt.quoted(id)): it is \(outcome.state.rawValue)",
        hint: outcome.state.isFinal
          ? "it has ended; a job under another id starts a new one" : "see: carillon campaign show \(id)")
    }
    return outcome
  }

  /// Approves a campaign.
  ///
  /// - Returns: lines with the estimate, the audience and the text of the campaign, and the result.
  func approve(_ id: String, by person: String) async throws -> ([String], CampaignVerbOutcome) {
    let before = try await store.campaigns.findWithJob(store.campaigns.approvable(id).id)
    let audience = before.flatMap { AudienceReport(of: $0.0, job: $0.1) }
    var outcome = CampaignVerbOutcome(id: id, state: try await store.campaigns.approve(id, by: person))
    (outcome.counts, outcome.others) = try await counts(of: id)
    let lines = [
      before?.0.approval.estimate.map { "estimate  \($0.text)" }, audience.map { "audience  \($0.text)" },
      audience?.message.map { "text      \($0)" },
    ]
    return (lines.compactMap(\.self), outcome)
  }

  /// Throws an error for the id of a part, because the actions change the whole campaign or the legs of one service.
  private static func refusePart(_ id: String, _ verb: ControlVerb) throws {
    guard let part = CampaignID(id).part else { return }
    let whole = CampaignID(id).whole
    let command = "carillon campaign \(verb.rawValue) \(whole)"
    throw CommandError(
      .input, "\(Excerpt.quoted(id)) is a part of campaign \(Excerpt.quoted(whole))",
      hint: verb == .cancel
        ? "\(command) ends the whole campaign"
        : part.service.map { "for the leg of \($0): \(command) --service \($0); for the whole campaign: \(command)" }
          ?? "for the whole campaign: \(command)")
  }

  /// Returns the details of an action for the audit trail.
  static func detail(_ reason: String, unguarded: Bool, service: String?) -> String {
    [service.map { "leg \($0)" }, unguarded ? "unguarded" : nil, reason.isEmpty ? nil : reason].compactMap(\.self)
      .joined(separator: ": ")
  }

  /// Returns the counts of a campaign, and the other campaigns that an action also changes: the parts and, for a
  /// recurring campaign, the runs that may not have ended.
  private func counts(
    of id: String
  ) async throws -> (CampaignCounts?, [(id: String, state: CampaignState, counts: CampaignCounts)]) {
    guard let record = try await store.campaigns.show(CampaignID(id).whole) else { return (nil, []) }
    var others = record.parts
    for id in record.repetition?.unfinishedRuns ?? [] {
      if let run = try await store.campaigns.show(id) { others.append(run) }
    }
    return (CampaignCounts(record), others.map { ($0.id, $0.state, CampaignCounts($0)) })
  }

  private static func states(wantedBy verb: ControlVerb) -> Set<CampaignState> {
    switch verb {
    case .pause: [.paused]
    case .resume, .approve: [.active, .scheduled]
    case .cancel: [.cancelled]
    // These actions do not change the state themselves.
    case .decide, .open: []
    }
  }
}
