import CampaignStore
import PushCore

/// What is done with a job that was taken off the queue. Pure.
enum Intake: Equatable {
  /// It becomes a campaign. `untimely` is what only the present time makes wrong: then it does so only if the job is known.
  case activate(Campaign, untimely: JobError? = nil)
  /// It goes to the dead list.
  case deadLetter(reason: String, hint: String)

  /// - Parameters:
  ///   - apps: of the configuration.
  ///   - run: the id of its campaign, where that is a run of a repeated job; `nil` for the id that the job gives. A run is
  ///     never untimely: its job was judged when it was submitted.
  ///   - now: UNIX seconds.
  init(_ job: [UInt8], _ apps: JobApps, as run: String? = nil, now: Int) {
    do {
      if let run {
        self = .activate(try CampaignJob.parse(job, apps, as: run))
      } else {
        let judgement = try CampaignJob.judge(job, apps, now: now)
        self = .activate(judgement.campaign, untimely: judgement.untimely)
      }
    } catch {
      self = .deadLetter(reason: error.reason, hint: error.hint ?? "")
    }
  }

  /// What follows from what the store said to a campaign; `nil` when it runs, or ran before.
  init?(_ campaign: Campaign, _ admission: Admission) {
    guard admission == .conflict else { return nil }
    self = .deadLetter(reason: "id: \(campaign.id) was used for another job", hint: "give the job an id of its own")
  }

  /// What follows from the store's refusal of a campaign; `nil` when it is no fault of the job.
  init?(_ error: StoreError) {
    switch error.damage {
    // What stands under its id, or in its slices.
    case .campaign?, .slice?: break
    default: guard error.code == .invalid else { return nil }
    }
    self = .deadLetter(reason: error.message, hint: error.hint)
  }
}
