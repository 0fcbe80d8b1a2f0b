import CampaignStore
import PushCore

/// Makes a campaign of a job, or puts the job on the dead list. Nothing of it runs on the executor that sends pushes.
struct JobIntake: Sendable {
  /// What became of a job.
  enum Result: Sendable {
    case activated(campaign: String, isTransactional: Bool)
    case deadLettered(key: String, campaign: String?, reason: String)
    /// It was known already, was withdrawn, or is not on the worker's list any more.
    case unchanged
  }

  /// A job on its way in.
  private struct Arrival {
    /// As it stands on the worker's list.
    var entry: [UInt8]
    /// The job, without users whose erasure waits for it.
    var job: [UInt8]
    /// The job with the content of its templates.
    var resolved: [UInt8]
    /// The id of its campaign, where that is a run of a repeated job.
    var run: String?
  }

  /// Lives of workers that begin to take in a job before nobody tries any more. One or two may have died of something else
  /// in the same moment; a check takes milliseconds, so three have died of the job.
  static let mostLives = 3
  /// Tries after which a job that meets damage moves aside. The first may have found what is set aside and made anew.
  static let mostFailures = 3

  let store: CampaignStore
  let instance: WorkerInstance
  let apps: JobApps
  /// The apps by name, with their limits for approval.
  let channels: [String: AppChannel]
  let checker: JobChecker
  /// Called with each job that is checked; `nil` but in tests.
  let hook: (@Sendable ([UInt8]) -> Void)?

  /// Takes in what stands on the worker's list.
  ///
  /// - Throws: what concerns every job, and the first failures of this one. The entry stays on the list then.
  @concurrent func take(in entry: [UInt8]) async throws -> Result {
    guard let attempts = try await store.queue.beginJob(entry, instance: instance) else { return .unchanged }
    var arrival = Arrival(entry: entry, job: entry, resolved: entry)
    do {
      if attempts.otherLives >= Self.mostLives {
        return try await deadLetter(
          arrival, reason: "\(attempts.otherLives) workers began to take in this job and ended before they had done so",
          hint: "see the last log lines of these workers; then mend the job, or try it again: carillon dead retry KEY")
      }
      return try await take(in: &arrival)
    } catch let error as JobChecker.Stopped {
      // It ends well: that is no attempt that counts against the job.
      try await store.queue.forget(attempts)
      throw error
    } catch  where Self.isOfTheJob(error) {
      guard try await store.queue.noteFailure(of: attempts) >= Self.mostFailures else { throw error }
      let (reason, hint) = (error as? StoreError).map { ($0.message, $0.hint) } ?? ("\(error)", "mend it")
      return try await deadLetter(arrival, reason: reason, hint: hint + "; then: carillon dead retry KEY")
    }
  }

  /// Whether an error comes from the job or from what it names. Other jobs can be taken in all the same.
  static func isOfTheJob(_ error: any Error) -> Bool {
    if let error = error as? StoreError { return !error.concernsEverybody }
    return error is JobError || error is JSONSyntaxError
  }

  private func take(in arrival: inout Arrival) async throws -> Result {
    if let id = RunRequest.id(arrival.entry) {
      arrival.run = id
      guard let job = try await store.queue.job(ofRun: id) else {
        try await store.queue.dismissRun(arrival.entry, worker: instance.name)
        return .unchanged
      }
      (arrival.job, arrival.resolved) = (job, job)
    } else {
      arrival.job = try await store.erasure.withoutErased(arrival.entry)
      arrival.resolved = arrival.job
    }
    switch try await check(&arrival) {
    case .activate(let campaign, let untimely): return try await activate(campaign, arrival, untimely)
    case .deadLetter(let reason, let hint): return try await deadLetter(arrival, reason: reason, hint: hint)
    }
  }

  /// Parses the job and holds it against the rules, within the time limit.
  private func check(_ arrival: inout Arrival) async throws -> Intake {
    do {
      let job = arrival.job
      let references = try await checker.run { [hook] in
        hook?(job)
        return try CampaignJob.templates(of: job)
      }
      let templates = try await store.campaigns.templates(references)
      let now = try await store.time() / 1_000_000
      let (resolved, next) = try await checker.run { [apps, run = arrival.run] in
        let resolved = references.isEmpty ? job : try CampaignJob.resolve(job, templates)
        return (resolved, Intake(resolved, apps, as: run, now: now))
      }
      arrival.resolved = resolved
      return next
    } catch let error as JobChecker.TooExpensive {
      return .deadLetter(
        reason: "the job is too expensive: its check took more than \(error.limit) of processor time",
        hint: "split it into jobs with fewer recipients, languages or variants")
    } catch let error as JobError {
      return .deadLetter(reason: error.reason, hint: error.hint ?? "")
    } catch let error as StoreError {
      guard let refusal = Intake(error) else { throw error }
      return refusal
    }
  }

  private func activate(
    _ campaign: Campaign, _ arrival: Arrival, _ untimely: JobError?
  ) async throws -> Result {
    do {
      let approval = try await whyApprovalIsNeeded(campaign, arrival.resolved)
      let admission = try await store.queue.activate(
        campaign, job: arrival.job, resolved: arrival.resolved, request: arrival.entry,
        original: arrival.run == nil ? arrival.entry : nil, worker: instance.name,
        approval: approval?.reason, reached: approval?.reached, untimely: untimely)
      if case .deadLetter(let reason, let hint)? = Intake(campaign, admission) {
        return try await deadLetter(arrival, reason: reason, hint: hint)
      }
      return admission == .new
        ? .activated(campaign: campaign.id, isTransactional: campaign.recipients.isTransactional) : .unchanged
    } catch let error as StoreError {
      guard case .deadLetter(let reason, let hint)? = Intake(error) else { throw error }
      return try await deadLetter(arrival, reason: reason, hint: hint)
    }
  }

  /// Returns the reason why a campaign needs approval and its number of pushes; `nil` for a campaign that needs none.
  ///
  /// The sizes of the sets give an upper bound, which comes from samples. If the bound is a tenth of the limit or more, the
  /// worker counts user by user, as `submit --estimate` does. An audience above ``mostCounted`` is not counted: the bound
  /// decides.
  private func whyApprovalIsNeeded(
    _ campaign: Campaign, _ job: [UInt8]
  ) async throws -> (reason: String, reached: Reached?)? {
    guard let channel = channels[campaign.app], let most = channel.approvalAbove else { return nil }
    // The estimate needs the definitions of the segments that are rules.
    var known = campaign
    known.recipients.definitions = try await store.queue.check(known)
    let sizes = try await store.limits.estimate(of: known).targets
    // Each companion may reach every user again.
    let bound = sizes * (1 + campaign.message.also.count)
    guard bound > most / Self.estimateMargin else { return nil }
    let start = try await store.time() / 1000
    let companions = try CampaignJob.companions(of: campaign, job, apps)
    var reached: Reached?
    if sizes <= Self.mostCounted {
      reached = try await count(campaign, with: companions, channel, start)
    }
    let targets = reached?.targets ?? bound
    guard targets > most else { return nil }
    return (
      "needs approval: about \(targets) targets, and app \(campaign.app) sends to more than \(most) only when "
        + "somebody else agrees: carillon campaign approve \(campaign.id) --by NAME", reached
    )
  }

  /// Counts the pushes of a campaign and its companions; `nil` if its audience refers to a campaign that has not ended.
  private func count(
    _ campaign: Campaign, with companions: [Campaign], _ channel: AppChannel, _ start: Int
  ) async throws -> Reached? {
    do {
      return try await store.audiences.count(campaign, with: companions) {
        DeviceFilter(
          $0, service: channel.service, environment: channel.environment, start: start, control: channel.control)
      }
    } catch let error as StoreError where error.code == .invalid {
      return nil
    }
  }

  /// The bound comes from samples and from the devices of an average user. The users of one audience may have more devices,
  /// so a campaign is counted from a tenth of the limit on. Counting every job would cost those to single users four round
  /// trips each.
  private static let estimateMargin = 10
  /// Targets by the sizes of the sets up to which a worker counts user by user. The worker takes in no other job meanwhile,
  /// so the count is bounded.
  private static let mostCounted = 1_000_000

  private func deadLetter(_ arrival: Arrival, reason: String, hint: String) async throws -> Result {
    let key =
      if let run = arrival.run {
        try await store.queue.deadLetter(
          run: run, request: arrival.entry, job: arrival.job, reason: reason, hint: hint, worker: instance.name)
      } else {
        try await store.queue.deadLetter(arrival.entry, reason: reason, hint: hint, worker: instance.name)
      }
    return .deadLettered(key: key, campaign: arrival.run ?? JobOutline(arrival.job)?.id, reason: reason)
  }
}
