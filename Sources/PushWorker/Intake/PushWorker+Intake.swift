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

  /// Takes in jobs: small ones here, large ones beside them.
  func intakeLoop() async {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.largeJobLoop() }
      await jobLoop()
      // It sees that the worker stops.
      alarms.largeJobs.ring()
    }
  }

  private func jobLoop() async {
    defer { intakeConnection = nil }
    // Whoever got a job waits for the next: where there was one there may be many.
    var waits = true
    var nextLook: UInt64 = 0
    // What an earlier life of our name, or a reply that was lost, left in our own list.
    var mayHaveLeftover = true
    while !life.isStopping {
      do {
        if EventLoop.now >= nextLook {
          try await control.limits.checkRoom()
          nextLook = EventLoop.now + Self.roomInterval
        }
        guard !isHeld else {
          await pause(milliseconds: 200)
          continue
        }
        guard !largeJobs.isFull else {
          await leaveWaitingToOthers()
          continue
        }
        var job =
          mayHaveLeftover
          ? try await control.queue.unfinishedJob(worker: configuration.name, besides: largeJobs.entries) : nil
        mayHaveLeftover = job != nil
        if job == nil {
          guard waits || configuration.drains || WakeRule.waitsForJobs(roll: .random(in: 0..<scheduler.fleet)) else {
            await leaveWaitingToOthers()
            continue
          }
          job = try await awaitJob()
          waits = job != nil
          // Redis may have been filled meanwhile.
          if job != nil { try await control.limits.checkRoom() }
        }
        // What came after the store was held stays in our list, which goes back to the queue when the worker ends.
        guard !isHeld, let job else {
          mayHaveLeftover = job != nil
          continue
        }
        if LargeJobs.isLarge(job) {
          largeJobs.add(job)
          alarms.largeJobs.ring()
        } else {
          try await take(in: job, smallJobChecks)
        }
      } catch {
        mayHaveLeftover = true
        nextLook = 0
        intakeConnection = nil
        await noteIntakeTrouble(error)
      }
    }
  }

  /// Takes in large jobs, one after the other.
  private func largeJobLoop() async {
    while !life.isStopping {
      guard let job = largeJobs.first else {
        await alarms.largeJobs.sleep(milliseconds: Self.intakeWait * 1000) { [weak self] in
          self?.assumeIsolated { $0.alarms.largeJobs.ring() }
        }
        continue
      }
      guard !isHeld else {
        await pause(milliseconds: 200)
        continue
      }
      do {
        try await take(in: job, largeJobChecks)
        largeJobs.removeFirst()
        // There is room for another one.
        alarms.intake.ring()
      } catch {
        await noteIntakeTrouble(error)
      }
    }
  }

  /// A job could not be taken in and stays in our list: it is tried again after a moment.
  private func noteIntakeTrouble(_ error: any Error) async {
    guard !(error is JobChecker.Stopped) else { return }
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

  /// In a large fleet enough others wait for jobs; and so they do while we have all the large jobs that we may have.
  private func leaveWaitingToOthers() async {
    await alarms.intake.sleep(milliseconds: Self.intakeWait * 1000) { [weak self] in
      self?.assumeIsolated { $0.alarms.intake.ring() }
    }
  }

  /// The connection's number is asked for once, and after trouble: should it be another all the same, a wait that a stop is
  /// to end ends by itself.
  private func awaitJob() async throws -> [UInt8]? {
    if intakeConnection == nil { intakeConnection = try await blocking.queue.intakeConnection() }
    guard !life.isStopping else { return nil }
    return try await blocking.queue.awaitJob(worker: configuration.name, seconds: Self.intakeWait, now: Int(now))
  }

  private func take(in entry: [UInt8], _ checker: JobChecker) async throws {
    let intake = JobIntake(
      store: control, instance: membership.instance, apps: configuration.jobApps,
      channels: configuration.apps, checker: checker, hook: jobHook)
    switch try await intake.take(in: entry) {
    case .activated(let id, let isTransactional):
      pass(.activated)
      log.tell(.activated(campaign: id, isTransactional: isTransactional))
      wakeClaims()
    case .deadLettered(let key, let id, let reason):
      log.tell(.deadLettered(key: key, campaign: id, reason: reason))
    case .unchanged: break
    }
  }
}
