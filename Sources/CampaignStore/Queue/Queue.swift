public import PushCore
import Redis

/// A job that is not a campaign yet.
public struct QueuedJob: Sendable, Equatable {
  /// The list on which a job waits.
  public enum Place: Sendable, Equatable {
    /// The producers' list. The job at position 1 is taken in next.
    case queue(position: Int, length: Int)
    /// The list of this worker, which is taking the job in.
    case intake(worker: String)
  }

  /// Outline of the job.
  public var outline: JobOutline
  /// The list on which the job waits, and its position there.
  public var place: Place
  /// Key of the list that contains the job.
  public var list: String
}

/// The jobs that wait to be taken in, see ``Queue/waiting()``.
public struct JobQueue: Sendable {
  /// One entry for each id, the newest job first.
  public var jobs: [QueuedJob] = []
  /// Number of jobs without an id among the jobs that were read. A worker will move them to the dead list.
  public var nameless = 0
  /// Number of further jobs that were not read. Workers take them in after the jobs that were read.
  public var unseen = 0
}

/// State of an id that was used for a job and has no campaign record.
public enum JobMemory: Sendable {
  /// The job was submitted, or is being taken in.
  case submitted
  /// The job became a campaign whose record no longer exists.
  case activated
}

/// Jobs before they are campaigns: submission, intake, the dead list, recurring jobs, the schedule.
public struct Queue: StoreRoom {
  let store: CampaignStore

  /// Maximum number of jobs in a page.
  private static let queuePage = 256
  /// Number of bytes after which a page ends. The last job of the page may exceed it.
  private static let queuePageSize = 1 << 20
  /// Number of jobs that ``waiting()`` reads: enough for a person who reads the list, and few enough for a call every
  /// 30 s, even if each job has 1 MB.
  private static let queueView = 100
  /// Interval between checks of a job that a worker is taking in. Taking in a job takes a few ms.
  private static let intakeInterval = Duration.milliseconds(50)

  /// Returns a waiting job; `nil` if no job has this id. If there are several copies, the result is the copy that
  /// workers take in first.
  public func waitingJob(_ id: String) async throws -> QueuedJob? {
    try await copies(of: id).last?.queued
  }

  /// Returns the waiting jobs. If the list is long, the result has only the jobs that workers take in next.
  public func waiting() async throws -> JobQueue {
    var queue = JobQueue()
    var known: [String: QueuedJob] = [:]
    var order: [String] = []
    let visit: (Waiting) -> Void = { waiting in
      guard let queued = waiting.queued else { return queue.nameless += 1 }
      if known.updateValue(queued, forKey: queued.outline.id) == nil { order.append(queued.outline.id) }
    }
    var pipeline = RedisPipeline()
    pipeline.append("LLEN", keys.campaigns)
    queue.unseen = max(0, (try await run(pipeline)[0].integer ?? 0) - Self.queueView)
    try await forEachWaiting(in: keys.campaigns, worker: nil, from: queue.unseen, visit)
    for worker in try await store.fleet.workers() {
      try await forEachWaiting(in: keys.intake(worker: worker), worker: worker, visit)
    }
    queue.jobs = order.compactMap { known[$0] }
    return queue
  }

  /// Removes every copy of a job from the producers' list. If a worker is already taking the job in, the worker keeps
  /// the job, and the function waits for the end of the intake.
  ///
  /// - Parameter timeout: the maximum time of this wait, in ms.
  /// - Returns: whether the job was removed; false if it is a campaign now, is still being taken in, or is on no list.
  public func unqueue(_ id: String, timeout: Int) async throws -> Bool {
    let end = ContinuousClock.now + .milliseconds(timeout)
    while true {
      let copies = try await copies(of: id)
      var count = 0
      for copy in copies where copy.queued.list == keys.campaigns { count += try await unqueue(copy.job, id) }
      // A job on a worker's list becomes a campaign, or returns to the producers' list if the worker dies.
      let isTaken = count == 0 && !copies.isEmpty || copies.contains { $0.queued.list != keys.campaigns }
      guard isTaken, ContinuousClock.now < end, try await store.campaigns.status(of: id) == nil else {
        return count > 0 && !isTaken
      }
      try await Task.sleep(for: Self.intakeInterval)
    }
  }

  /// Removes the copies of a job that have exactly this text.
  ///
  /// - Returns: the number of removed copies.
  private func unqueue(_ job: [UInt8], _ id: String) async throws -> Int {
    if let run = RunRequest.id(job) { return try await unqueue(run: run, request: job) }
    let forms = try await forms(of: job)
    var pipeline = RedisPipeline(reserving: job.count + forms.count + 256)
    pipeline.script(StoreScripts.unqueue, keys: [keys.campaigns, keys.job(id)]) {
      $0.append(job)
      $0.append(forms.meaning)
      $0.append(forms.written)
    }
    return try await run(pipeline)[0].integer ?? 0
  }

  /// Returns the state of an id; `nil` if no job with this id was submitted or taken in within ``idMemory``.
  public func memory(of id: String) async throws -> JobMemory? {
    var pipeline = RedisPipeline()
    pipeline.append("STRLEN", keys.job(id))
    pipeline.append("EXISTS", keys.campaign(id))
    let replies = try await run(pipeline)
    let length = replies[0].integer ?? 0
    // The value of a submitted job is its digest, which has 40 bytes. A longer value names a campaign.
    if length > 40 || replies[1].integer == 1 { return .activated }
    return length > 0 ? .submitted : nil
  }

  // MARK: Walking over jobs

  /// Returns the waiting jobs whose text contains a text, with their outlines.
  func waitingJobs(containing text: String) async throws -> [(outline: JobOutline, job: [UInt8])] {
    var found: [(outline: JobOutline, job: [UInt8])] = []
    let visit: (Waiting) -> Void = { waiting in
      guard let outline = waiting.queued?.outline, waiting.job.contains(text.utf8) else { return }
      found.append((outline, waiting.job))
    }
    try await forEachWaiting(in: keys.campaigns, worker: nil, visit)
    for worker in try await store.fleet.workers() {
      try await forEachWaiting(in: keys.intake(worker: worker), worker: worker, visit)
    }
    return found
  }

  /// Returns the ids of jobs that pass a test, among those that wait and those that a worker is taking in.
  func waitingIDs(where passes: ([UInt8]) async -> Bool) async throws -> Set<String> {
    var found: Set<String> = []
    func visit(_ waiting: Waiting) async {
      guard let id = waiting.queued?.outline.id, await passes(waiting.job) else { return }
      found.insert(id)
    }
    try await forEachWaiting(in: keys.campaigns, worker: nil, visit)
    for worker in try await store.fleet.workers() {
      try await forEachWaiting(in: keys.intake(worker: worker), worker: worker, visit)
    }
    // Read the producers' list again: if a worker has died in the meantime, its job has returned to this list.
    try await forEachWaiting(in: keys.campaigns, worker: nil, visit)
    return found
  }

  /// A job as it is on a list.
  private struct Waiting {
    var job: [UInt8]
    /// The job as ``waiting()`` returns it; `nil` if the job has no id.
    var queued: QueuedJob?
  }

  /// Returns the jobs with an id. If copies have the same text, only one of them is returned. The order is that in
  /// which a job passes through the lists.
  private func copies(of id: String) async throws -> [(job: [UInt8], queued: QueuedJob)] {
    var copies: [(job: [UInt8], queued: QueuedJob)] = []
    let visit: (Waiting) -> Void = { waiting in
      guard let queued = waiting.queued, queued.outline.id == id else { return }
      copies.removeAll { $0.queued.list == queued.list && $0.job == waiting.job }
      copies.append((waiting.job, queued))
    }
    try await forEachWaiting(in: keys.campaigns, worker: nil, visit)
    for worker in try await store.fleet.workers() {
      try await forEachWaiting(in: keys.intake(worker: worker), worker: worker, visit)
    }
    return copies
  }

  /// Calls `body` for the jobs of a list, newest first. Producers add jobs at the newest end of the list, and workers
  /// take them from the oldest end. A job that stays is therefore never skipped. A job may be visited twice, the second
  /// time at a position closer to the oldest end.
  private func forEachWaiting(
    in list: String, worker: String?, from start: Int = 0, _ body: (Waiting) async -> Void
  ) async throws {
    var first = start
    while true {
      var pipeline = RedisPipeline()
      pipeline.script(StoreScripts.queue, keys: [list]) {
        $0.append(first)
        $0.append(Self.queuePage)
        $0.append(Self.queuePageSize)
      }
      let page = try await run(pipeline)[0]
      guard page.count > 1, let length = page[0].integer else { return }
      for index in 1..<page.count {
        let job = page[index].bytes.map(Array.init) ?? []
        let place: QueuedJob.Place =
          worker.map { .intake(worker: $0) } ?? .queue(position: length - (first + index - 1), length: length)
        var outline = RunRequest.id(job).map { JobOutline(id: $0) }
        if outline == nil { outline = await JobOutline.read(job) }
        await body(Waiting(job: job, queued: outline.map { QueuedJob(outline: $0, place: place, list: list) }))
      }
      first += page.count - 1
    }
  }
}
