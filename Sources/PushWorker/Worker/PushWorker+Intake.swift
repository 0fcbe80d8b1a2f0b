import CampaignStore
import EventLoop
import PushCore

/// Jobs become campaigns, or go to the dead list with the reason.
extension PushWorker {
  /// Seconds that one wait for a job lasts, and the turn of a worker that does not wait. Less than a lease without a heartbeat: what Redis hands to a worker that stands
  /// still must be in its list before it is taken for dead, and others look there. A stopping worker ends the wait.
  private static let intakeWait = 3

  /// ns between looks whether Redis has room, while nothing comes: they cost Redis more than everything else that an idle
  /// worker asks.
  private static let roomInterval: UInt64 = 60_000_000_000

  func intakeLoop() async {
    defer { intakeConnection = nil }
    // Whoever got a job waits for the next: where there was one there may be many.
    var waits = true
    var nextLook: UInt64 = 0
    // What an earlier life of our name, or a reply that was lost, left in our own list.
    var mayHaveLeftover = true
    while !life.isStopping {
      do {
        if EventLoop.now >= nextLook {
          try await control.checkRoom()
          nextLook = EventLoop.now + Self.roomInterval
        }
        guard !isHeld else {
          await pause(milliseconds: 200)
          continue
        }
        var job = mayHaveLeftover ? try await control.unfinishedJob(worker: configuration.name) : nil
        mayHaveLeftover = job != nil
        if job == nil {
          guard waits || configuration.drains || WakeRule.waitsForJobs(roll: .random(in: 0..<scheduler.fleet)) else {
            await leaveWaitingToOthers()
            continue
          }
          job = try await awaitJob()
          waits = job != nil
          // Redis may have been filled meanwhile.
          if job != nil { try await control.checkRoom() }
        }
        // What came after the store was held stays in our list, which goes back to the queue when the worker ends.
        if isHeld { mayHaveLeftover = job != nil } else if let job { try await take(in: job) }
      } catch {
        mayHaveLeftover = true
        nextLook = 0
        intakeConnection = nil
        if let error = error as? StoreError, error.code == .full {
          log.report("jobs stay in the queue", error)
          await pause(milliseconds: 1000)
        } else {
          log.report("could not take in a job", error)
          await mend(error)
          await checkServer()
          await pause(milliseconds: 500)
        }
      }
    }
  }

  /// In a large fleet enough others wait for jobs.
  private func leaveWaitingToOthers() async {
    await alarms.intake.sleep(milliseconds: Self.intakeWait * 1000) { [weak self] in
      self?.assumeIsolated { $0.alarms.intake.ring() }
    }
  }

  /// The connection's number is asked for once, and after trouble: should it be another all the same, a wait that a stop is
  /// to end ends by itself.
  private func awaitJob() async throws -> [UInt8]? {
    if intakeConnection == nil { intakeConnection = try await blocking.intakeConnection() }
    guard !life.isStopping else { return nil }
    return try await blocking.awaitJob(worker: configuration.name, seconds: Self.intakeWait, now: Int(now))
  }

  /// A job on its way in.
  private struct Arrival {
    /// As it stands on our list.
    var entry: [UInt8]
    var job: [UInt8]
    /// The job with the content of its template, where it names one.
    var resolved: [UInt8]
    /// The id of its campaign, where that is a run of a repeated job.
    var run: String?
  }

  /// Does with what stands on our list what is to be done. Only failures of the way to Redis are thrown.
  private func take(in entry: [UInt8]) async throws {
    var arrival = Arrival(entry: entry, job: entry, resolved: entry)
    if let id = RunRequest.id(entry) {
      guard let job = try await control.job(ofRun: id) else {
        return try await control.dismissRun(entry, worker: configuration.name)
      }
      arrival = Arrival(entry: entry, job: job, resolved: job, run: id)
    }
    var next: Intake?
    do {
      arrival.resolved = try await control.resolve(arrival.job)
      next = Intake(arrival.resolved, configuration.jobApps, as: arrival.run)
    } catch let error as StoreError {
      guard let refusal = Intake(error) else { throw error }
      next = refusal
    }
    while let step = next {
      switch step {
      case .activate(let campaign): next = try await activate(campaign, arrival)
      case .deadLetter(let reason, let hint):
        try await deadLetter(arrival, reason: reason, hint: hint)
        next = nil
      }
    }
  }

  private func deadLetter(_ arrival: Arrival, reason: String, hint: String) async throws {
    let key =
      if let run = arrival.run {
        try await control.deadLetter(
          run: run, request: arrival.entry, job: arrival.job, reason: reason, hint: hint, worker: configuration.name)
      } else {
        try await control.deadLetter(arrival.job, reason: reason, hint: hint, worker: configuration.name)
      }
    let id = arrival.run ?? JobOutline(arrival.job)?.id
    log.tell(.deadLettered(key: key, campaign: id, reason: reason))
  }

  /// Why a campaign waits for somebody's approval; `nil` where it need not.
  private func whyApprovalIsNeeded(_ campaign: Campaign) async throws -> String? {
    guard let most = configuration.apps[campaign.app]?.approvalAbove else { return nil }
    // What the names of rules mean: without that they would mean nobody.
    var known = campaign
    known.definitions = try await control.definitions()
    let targets = try await control.estimate(of: known).targets
    guard targets > most else { return nil }
    return "needs approval: about \(targets) targets, and app \(campaign.app) sends to more than \(most) only when "
      + "somebody else agrees: carillon campaign approve \(campaign.id) --by NAME"
  }

  /// - Returns: what is to be done with the job instead; `nil` for nothing.
  private func activate(_ campaign: Campaign, _ arrival: Arrival) async throws -> Intake? {
    do {
      let admission = try await control.activate(
        campaign, job: arrival.job, resolved: arrival.resolved, request: arrival.run == nil ? nil : arrival.entry,
        worker: configuration.name, approval: try await whyApprovalIsNeeded(campaign))
      if admission == .new {
        pass(.activated)
        log.tell(.activated(campaign: campaign.id, isTransactional: campaign.isTransactional))
        wakeClaims()
      }
      return Intake(campaign, admission)
    } catch let error as StoreError {
      guard let refusal = Intake(error) else { throw error }
      return refusal
    }
  }
}
