import CampaignStore
import EventLoop
import PushCore

/// Takes jobs from the queue. They become campaigns, or go to the dead list with the reason.
final class JobIntakeLoop: WorkerPart {
  let environment: WorkerEnvironment
  /// The store through a client of its own, because the wait for a job blocks this client most of the time.
  private let blocking: CampaignStore
  private let membership: FleetMembership
  private let failover: FailoverService
  /// Redis' id of the connection that waits for jobs, with which the worker ends a wait; `nil` before the first wait
  /// and after the intake has ended.
  private var connection: Int?
  /// Jobs on the worker's list whose intake takes long.
  private var largeJobs = LargeJobs()
  /// The checkers of jobs: small jobs never wait for large ones.
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

  /// Ends the checks and the wait for a job, because the worker stops.
  func stop() {
    signals.intake.wake()
    signals.largeJobs.wake()
    smallJobChecks.stop()
    largeJobChecks.stop()
    loop.start { await self.endWait() }
  }

  /// Ends the wait for a job in Redis. Repeats the call (`CLIENT UNBLOCK`), because the wait may begin only after a
  /// call. If Redis refuses the call, the wait ends at its time limit.
  private func endWait() async {
    while let connection {
      try? await sharedStore.queue.endWait(of: connection)
      await pause(milliseconds: 100)
    }
  }

  /// Time limit of one wait for a job, in seconds, and duration of a turn without a wait. It is shorter than the time
  /// after which a worker without a heartbeat counts as dead. Redis may give a job to a worker whose process is
  /// suspended. Because of this limit, the job is in that worker's list before the worker counts as dead and others
  /// search its list. A stopping worker ends the wait earlier.
  private static let intakeWait = 3

  /// Time in ns between checks of Redis' free memory while no job arrives. These checks cost Redis more than all other
  /// calls of an idle worker.
  private static let roomInterval: UInt64 = 60_000_000_000

  /// Takes jobs from the queue until the worker stops. Handles small jobs in this task, and large jobs in a second
  /// task.
  func run() async {
    await loop.withGroup { group in
      self.loop.start(in: &group) { await self.largeJobLoop() }
      await self.jobLoop()
      // Wakes the loop of large jobs, which then sees that the worker stops.
      self.signals.largeJobs.wake()
    }
  }

  private func jobLoop() async {
    defer { connection = nil }
    // After a job, the worker waits for the next one, because there may be many.
    var waits = true
    var nextCheck: UInt64 = 0
    // An earlier process with this name, or a lost reply, may have left jobs in the worker's own list.
    var mayHaveLeftover = true
    while !life.isStopping {
      do {
        if EventLoop.now >= nextCheck {
          try await sharedStore.limits.checkRoom()
          nextCheck = EventLoop.now + Self.roomInterval
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
          // Redis may have become full during the wait.
          if job != nil { try await sharedStore.limits.checkRoom() }
        }
        // A job that arrives after the store was locked stays in the worker's list. It goes back to the queue when the
        // worker ends.
        guard !isStoreLocked, let job else {
          mayHaveLeftover = job != nil
          continue
        }
        var takesLong = LargeJobs.isLarge(job)
        if !takesLong { takesLong = try await !take(in: job, mayTakeLong: false) }
        if takesLong {
          largeJobs.add(job)
          signals.largeJobs.wake()
        }
      } catch {
        mayHaveLeftover = true
        nextCheck = 0
        connection = nil
        await reportIntakeFailure(error)
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
        _ = try await take(in: job, mayTakeLong: true)
        largeJobs.removeFirst()
        // There is room for another large job.
        signals.intake.wake()
      } catch {
        await reportIntakeFailure(error)
      }
    }
  }

  /// Reports a job that could not be taken in, and pauses. The job stays in the worker's list, and the worker tries
  /// again after the pause.
  private func reportIntakeFailure(_ error: any Error) async {
    guard !(error is JobChecker.Stopped) else { return }
    if let error = error as? StoreError, error.code == .full {
      log.report("jobs stay in the queue", error)
      await pause(milliseconds: 1000)
    } else {
      log.report("could not activate a job", error)
      await failover.recover(from: error)
      await pause(milliseconds: 500)
    }
  }

  /// Pauses without waiting for a job, because the fleet is large or this worker holds the maximum number of large
  /// jobs.
  private func leaveWaitingToOthers() async {
    await signals.intake.wait(milliseconds: Self.intakeWait * 1000, on: loop)
  }

  /// Waits for a job. Reads the connection's id at the start and after errors. If the id has changed without an error,
  /// a stop can't end the wait, which then lasts until its time limit.
  private func awaitJob() async throws -> [UInt8]? {
    if connection == nil { connection = try await blocking.queue.intakeConnection() }
    guard !life.isStopping else { return nil }
    return try await blocking.queue.awaitJob(
      worker: environment.configuration.name, seconds: Self.intakeWait, now: Int(now))
  }

  /// Takes in a job.
  ///
  /// - Parameter mayTakeLong: Whether the intake may read a large job or count a large audience.
  /// - Returns: `false` if the intake takes long although `mayTakeLong` is `false`. The job then stays on the worker's
  ///   list.
  private func take(in entry: [UInt8], mayTakeLong: Bool) async throws -> Bool {
    let intake = JobIntake(
      store: sharedStore, instance: membership.instance, apps: environment.configuration.jobApps,
      channels: environment.configuration.apps, checker: mayTakeLong ? largeJobChecks : smallJobChecks,
      largeAudience: environment.configuration.largeAudience, mayTakeLong: mayTakeLong, hook: jobHook)
    switch mayTakeLong ? try await intake.takeLarge(entry) : try await intake.take(in: entry) {
    case .activated(let id, let isTransactional):
      crashPoint(.activated)
      log.write(.activated(campaign: id, isTransactional: isTransactional))
      wakeClaims()
    case .deadLettered(let key, let id, let reason):
      log.write(.deadLettered(key: key, campaign: id, reason: reason))
    case .unchanged: break
    case .takesLong: return false
    }
    return true
  }
}
