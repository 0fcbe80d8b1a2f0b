import CampaignStore
import EventLoop
import PushCore

/// Takes jobs off the queue: they become campaigns, or go to the dead list with the reason.
final class JobIntakeLoop: WorkerPart {
  let environment: WorkerEnvironment
  /// The same store over a third client, which a wait for a job blocks most of the time.
  private let blocking: CampaignStore
  private let membership: FleetMembership
  private let failover: FailoverService
  /// The connection on which jobs are waited for, by the server's number, to end a wait; `nil` before the first and when no job is
  /// taken in any more.
  private var connection: Int?
  /// Jobs in hand that take long to check.
  private var largeJobs = LargeJobs()
  /// Where jobs are checked: small ones never wait for large ones.
  private let (smallJobChecks, largeJobChecks): (JobChecker, JobChecker)

  init(
    _ environment: WorkerEnvironment, blocking: CampaignStore, membership: FleetMembership, failover: FailoverService
  ) {
    self.environment = environment
    self.blocking = blocking
    self.membership = membership
    self.failover = failover
    let limit = environment.configuration.jobCheckLimit
    smallJobChecks = JobChecker(priority: .normal, limit: limit)
    largeJobChecks = JobChecker(priority: .low, limit: limit)
  }

  /// Ends the checks and the wait for a job, as the worker stops.
  func stop() {
    signals.intake.ring()
    signals.largeJobs.ring()
    smallJobChecks.stop()
    largeJobChecks.stop()
    loop.start { await self.endWait() }
  }

  /// Ends the wait for a job. It repeats this, as the wait may be about to begin. If Redis refuses, the wait ends by itself.
  private func endWait() async {
    while let connection {
      try? await sharedStore.queue.endWait(of: connection)
      await pause(milliseconds: 100)
    }
  }

  /// Seconds that one wait for a job lasts, and the turn of a worker that does not wait. Less than a lease without a heartbeat: what Redis hands to a worker that stands
  /// still must be in its list before it is taken for dead, and others look there. A stopping worker ends the wait.
  private static let intakeWait = 3

  /// ns between looks whether Redis has room, while nothing comes: they cost Redis more than everything else that an idle
  /// worker asks.
  private static let roomInterval: UInt64 = 60_000_000_000

  /// Takes in jobs: small ones here, large ones beside them.
  func run() async {
    await loop.withGroup { group in
      self.loop.start(in: &group) { await self.largeJobLoop() }
      await self.jobLoop()
      // The loop of large jobs sees that the worker stops.
      self.signals.largeJobs.ring()
    }
  }

  private func jobLoop() async {
    defer { connection = nil }
    // Whoever got a job waits for the next: where there was one there may be many.
    var waits = true
    var nextLook: UInt64 = 0
    // What an earlier life of our name, or a reply that was lost, left in our own list.
    var mayHaveLeftover = true
    while !life.isStopping {
      do {
        if EventLoop.now >= nextLook {
          try await sharedStore.limits.checkRoom()
          nextLook = EventLoop.now + Self.roomInterval
        }
        guard !isStoreLocked else {
          await pause(milliseconds: 200)
          continue
        }
        guard !largeJobs.isFull else {
          await leaveWaitingToOthers()
          continue
        }
        var job =
          mayHaveLeftover
          ? try await sharedStore.queue.unfinishedJob(
            worker: environment.configuration.name, besides: largeJobs.entries)
          : nil
        mayHaveLeftover = job != nil
        if job == nil {
          guard
            waits || environment.configuration.drains || WakeRule.waitsForJobs(roll: .random(in: 0..<environment.fleet))
          else {
            await leaveWaitingToOthers()
            continue
          }
          job = try await awaitJob()
          waits = job != nil
          // Redis may have been filled meanwhile.
          if job != nil { try await sharedStore.limits.checkRoom() }
        }
        // What came after the store was held stays in our list, which goes back to the queue when the worker ends.
        guard !isStoreLocked, let job else {
          mayHaveLeftover = job != nil
          continue
        }
        if LargeJobs.isLarge(job) {
          largeJobs.add(job)
          signals.largeJobs.ring()
        } else {
          try await take(in: job, smallJobChecks)
        }
      } catch {
        mayHaveLeftover = true
        nextLook = 0
        connection = nil
        await noteIntakeTrouble(error)
      }
    }
  }

  /// Takes in large jobs, one after the other.
  private func largeJobLoop() async {
    while !life.isStopping {
      guard let job = largeJobs.first else {
        await signals.largeJobs.wait(milliseconds: Self.intakeWait * 1000, on: loop)
        continue
      }
      guard !isStoreLocked else {
        await pause(milliseconds: 200)
        continue
      }
      do {
        try await take(in: job, largeJobChecks)
        largeJobs.removeFirst()
        // There is room for another one.
        signals.intake.ring()
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
      await failover.recover(from: error)
      await pause(milliseconds: 500)
    }
  }

  /// In a large fleet enough others wait for jobs; and so they do while we have all the large jobs that we may have.
  private func leaveWaitingToOthers() async {
    await signals.intake.wait(milliseconds: Self.intakeWait * 1000, on: loop)
  }

  /// The connection's number is asked for once, and after trouble: should it be another all the same, a wait that a stop is
  /// to end ends by itself.
  private func awaitJob() async throws -> [UInt8]? {
    if connection == nil { connection = try await blocking.queue.intakeConnection() }
    guard !life.isStopping else { return nil }
    return try await blocking.queue.awaitJob(
      worker: environment.configuration.name, seconds: Self.intakeWait, now: Int(now))
  }

  private func take(in entry: [UInt8], _ checker: JobChecker) async throws {
    let intake = JobIntake(
      store: sharedStore, instance: membership.instance, apps: environment.configuration.jobApps,
      channels: environment.configuration.apps, checker: checker, hook: jobHook)
    switch try await intake.take(in: entry) {
    case .activated(let id, let isTransactional):
      crashPoint(.activated)
      log.tell(.activated(campaign: id, isTransactional: isTransactional))
      wakeClaims()
    case .deadLettered(let key, let id, let reason):
      log.tell(.deadLettered(key: key, campaign: id, reason: reason))
    case .unchanged: break
    }
  }
}
