import CampaignStore
import PushCore

/// Creates a campaign from a job, or puts the job on the dead list.
struct JobIntake: Sendable {
  /// The result of a job's intake.
  enum Result: Sendable {
    case activated(campaign: String, isTransactional: Bool)
    case deadLettered(key: String, campaign: String?, reason: String)
    /// No campaign was created: the job was known already, was withdrawn, or is no longer on the worker's list.
    case unchanged
    /// The intake of the job takes long, and ``mayTakeLong`` is `false`. The job stays on the worker's list.
    case takesLong
  }

  /// The error of an intake that takes long although ``mayTakeLong`` is `false`.
  struct TakesLong: Error {}

  /// A job during its intake.
  private struct Arrival {
    /// The entry on the worker's list.
    var entry: [UInt8]
    /// A copy of the job without the users whose erasure is pending.
    var job: [UInt8]
    /// A copy of the job with the content of its templates.
    var resolved: [UInt8]
    /// The time at which the intake began, by Redis' clock in ms since the epoch.
    var beganAt: Int
    /// The id of its campaign, if this is a run of a recurring job.
    var run: String?
  }

  /// Number of worker processes that may die during the intake of a job before the job goes to the dead list. One or
  /// two deaths may have another cause. A check takes milliseconds, so after three deaths the job is almost certainly
  /// the cause.
  static let maximumLives = 3
  /// Number of failed attempts after which a job that needs damaged data goes to the dead list. After the first
  /// failure, the data may be rebuilt.
  static let maximumFailures = 3

  let store: CampaignStore
  let instance: WorkerInstance
  let apps: JobApps
  /// The apps by name, with their limits for approval.
  let channels: [String: AppChannel]
  let checker: JobChecker
  /// Number of targets above which an audience is large (``WorkerConfiguration``).
  let largeAudience: Int
  /// Whether the intake may read a large job or count a large audience. If not, its result is ``Result/takesLong``. An
  /// entry of a few bytes may stand for a large job: a run of a recurring campaign, or a job with a template.
  let mayTakeLong: Bool
  /// Called with each job that is checked; `nil` except in tests.
  let hook: (@Sendable ([UInt8]) -> Void)?

  /// Takes in a large job like ``take(in:)``, outside the caller's executor. For example, to write a large audience
  /// takes many milliseconds of processor time, and pushes must not wait for it.
  @concurrent func takeLarge(_ entry: [UInt8]) async throws -> Result { try await take(in: entry) }

  /// Takes in a job from the worker's list in Redis. Runs on the caller's executor, because each change of the executor
  /// delays a small job. Only the check of the job runs on another thread.
  ///
  /// - Throws: an error that affects every job, or one of the first failures of this job. The job then stays on the
  ///   list.
  func take(in entry: [UInt8]) async throws -> Result {
    guard let attempts = try await store.queue.beginJob(entry, instance: instance) else { return .unchanged }
    var arrival = Arrival(entry: entry, job: entry, resolved: entry, beganAt: attempts.beganAt)
    do {
      if attempts.otherLives >= Self.maximumLives {
        return try await deadLetter(
          arrival, reason: "\(attempts.otherLives) workers ended while they activated this job",
          hint: "check the last log lines of these workers; then fix the job, or retry it: carillon dead retry KEY")
      }
      return try await take(in: &arrival, hasErasures: attempts.hasErasures)
    } catch let error as JobChecker.Stopped {
      // A planned stop of the worker interrupted the intake, so this attempt does not count against the job.
      try await store.queue.forget(attempts)
      throw error
    } catch is TakesLong {
      try await store.queue.forget(attempts)
      return .takesLong
    } catch  where Self.isOfTheJob(error) {
      guard try await store.queue.countFailure(of: attempts) >= Self.maximumFailures else { throw error }
      let (reason, hint) = (error as? StoreError).map { ($0.message, $0.hint) } ?? ("\(error)", "fix the job")
      return try await deadLetter(arrival, reason: reason, hint: hint + "; then: carillon dead retry KEY")
    }
  }

  /// Returns whether an error comes from the job or from data that the job names. Such an error does not affect other
  /// jobs.
  static func isOfTheJob(_ error: any Error) -> Bool {
    if let error = error as? StoreError { return !error.affectsAllCampaigns }
    return error is JobError || error is JSONSyntaxError
  }

  private func take(in arrival: inout Arrival, hasErasures: Bool) async throws -> Result {
    if let id = RunRequest.id(arrival.entry) {
      arrival.run = id
      guard let job = try await store.queue.job(ofRun: id) else {
        try await store.queue.dismissRun(arrival.entry, worker: instance.name)
        return .unchanged
      }
      try checkSize(job.count)
      (arrival.job, arrival.resolved) = (job, job)
    } else if hasErasures {
      arrival.job = try await store.erasure.withoutErased(arrival.entry)
      arrival.resolved = arrival.job
    }
    switch try await check(&arrival) {
    case .activate(let campaign, let untimely): return try await activate(campaign, arrival, untimely)
    case .deadLetter(let reason, let hint): return try await deadLetter(arrival, reason: reason, hint: hint)
    }
  }

  /// Throws ``TakesLong`` if a job of this size takes long to read and ``mayTakeLong`` is `false`.
  private func checkSize(_ bytes: Int) throws(TakesLong) {
    if !mayTakeLong, bytes >= LargeJobThread.size { throw TakesLong() }
  }

  /// Parses the job and checks it against the rules, within the time limit.
  private func check(_ arrival: inout Arrival) async throws -> IntakeDecision {
    do {
      let (job, run, now) = (arrival.job, arrival.run, arrival.beganAt / 1000)
      let (references, decision) = try await checker.run { [apps, hook] in
        hook?(job)
        let references = try CampaignJob.templates(of: job)
        return (references, references.isEmpty ? IntakeDecision(job, apps, as: run, now: now) : nil)
      }
      if let decision { return decision }
      let templates = try await store.campaigns.templates(references)
      try checkSize(job.count + templates.values.reduce(0) { $0 + $1.content.count })
      let (resolved, next) = try await checker.run { [apps, hook] in
        let resolved = try CampaignJob.resolve(job, templates)
        hook?(resolved)
        return (resolved, IntakeDecision(resolved, apps, as: run, now: now))
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
      guard let refusal = IntakeDecision(error) else { throw error }
      return refusal
    }
  }

  private func activate(
    _ campaign: Campaign, _ arrival: Arrival, _ untimely: JobError?
  ) async throws -> Result {
    do {
      let check = ApprovalCheck(
        store: store, apps: apps, channels: channels, largeAudience: largeAudience, mayTakeLong: mayTakeLong,
        proceed: { [checker] in try checker.checkStopped() })
      let approval = try await check.reason(of: campaign, job: arrival.resolved)
      let admission = try await store.queue.activate(
        campaign, job: arrival.job, resolved: arrival.resolved, request: arrival.entry,
        original: arrival.run == nil ? arrival.entry : nil, worker: instance.name,
        approval: approval?.reason, reached: approval?.reached, untimely: untimely)
      if case .deadLetter(let reason, let hint)? = IntakeDecision(campaign, admission) {
        return try await deadLetter(arrival, reason: reason, hint: hint)
      }
      return admission == .new
        ? .activated(campaign: campaign.id, isTransactional: campaign.recipients.isTransactional) : .unchanged
    } catch let error as StoreError {
      guard case .deadLetter(let reason, let hint)? = IntakeDecision(error) else { throw error }
      return try await deadLetter(arrival, reason: reason, hint: hint)
    }
  }

  private func deadLetter(_ arrival: Arrival, reason: String, hint: String) async throws -> Result {
    let key =
      if let run = arrival.run {
        try await store.queue.deadLetter(
          run: run, request: arrival.entry, job: arrival.job, reason: reason, hint: hint, worker: instance.name)
      } else {
        try await store.queue.deadLetter(arrival.entry, reason: reason, hint: hint, worker: instance.name)
      }
    let id: String? = if let run = arrival.run { run } else { await JobOutline.read(arrival.job)?.id }
    return .deadLettered(key: key, campaign: id, reason: reason)
  }
}
