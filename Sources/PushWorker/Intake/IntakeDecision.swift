import CampaignStore
import PushCore

/// The next action for a job that was taken from the queue. Pure.
enum IntakeDecision: Equatable {
  /// The job becomes a campaign. `untimely` is the error of a job that is invalid only at the present time. The store
  /// then accepts the job only if the campaign of this job already exists.
  case activate(Campaign, untimely: JobError? = nil)
  /// The job goes to the dead list.
  case deadLetter(reason: String, hint: String)

  /// Decides about a job from its text.
  ///
  /// - Parameters:
  ///   - apps: The apps of the configuration.
  ///   - run: The id of its campaign, if this is a run of a recurring job; `nil` for the id in the job. A run is never
  ///     untimely, because its job was checked when it was submitted.
  ///   - now: UNIX seconds.
  init(_ job: [UInt8], _ apps: JobApps, as run: String? = nil, now: Int) {
    do {
      if let run {
        self = .activate(try CampaignJob.parse(job, apps, as: run))
      } else {
        let checked = try CampaignJob.check(job, apps, now: now)
        self = .activate(checked.campaign, untimely: checked.untimely)
      }
    } catch {
      self = .deadLetter(reason: error.reason, hint: error.hint ?? "")
    }
  }

  /// Decides by the store's answer to the activation of a campaign. `nil` if nothing is left to do, because the
  /// campaign runs, or ran before.
  init?(_ campaign: Campaign, _ admission: Admission) {
    guard admission == .conflict else { return nil }
    self = .deadLetter(
      reason: "id: \(campaign.id) is already used by another job", hint: "submit the job with another id")
  }

  /// Decides by the error of the store, which has refused a campaign. `nil` if the job is not the cause.
  init?(_ error: StoreError) {
    switch error.damage {
    // The data of the campaign or of its slices is damaged.
    case .campaign?, .slice?: break
    default: guard error.code == .invalid else { return nil }
    }
    self = .deadLetter(reason: error.message, hint: error.hint)
  }
}
