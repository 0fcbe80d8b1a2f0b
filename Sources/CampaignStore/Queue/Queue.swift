public import PushCore
import Redis

/// A job that no worker has made a campaign of.
public struct QueuedJob: Sendable, Equatable {
  /// Where a job waits.
  public enum Place: Sendable, Equatable {
    /// On the producers' list: 1 is taken in next.
    case queue(position: Int, length: Int)
    /// This worker is taking it in.
    case intake(worker: String)
  }

  /// What it says of itself.
  public var outline: JobOutline
  /// Where it is.
  public var place: Place
  /// The key of the list that it is on.
  public var list: String
}

/// The jobs that wait to be taken in, see ``Queue/waiting()``.
public struct JobQueue: Sendable {
  /// One for each id, that which came last first.
  public var jobs: [QueuedJob] = []
  /// Jobs among those that were looked at that give no id: a worker will put them on the dead list.
  public var nameless = 0
  /// Jobs behind those that were looked at.
  public var unseen = 0
}

/// What is known of an id that has no campaign.
public enum JobMemory: Sendable {
  /// Its job was submitted, or is being taken in.
  case submitted
  /// Its job became a campaign, the record of which is gone.
  case activated
}

/// Jobs between their producer and their campaign: submission, intake, the dead list, recurring jobs, the schedule.
public struct Queue: StoreRoom {
  let store: CampaignStore

  /// Jobs of a page at most.
  private static let queuePage = 256
  /// Bytes after which a page ends: some jobs of the largest size fit into as much again.
  private static let queuePageSize = 1 << 20
  /// Jobs that ``queue()`` looks at: as many as anybody reads, and few enough to be asked for every half minute, though
  /// each have a megabyte.
  private static let queueView = 100
  /// Between looks at a job that a worker is taking in, which takes some milliseconds.
  private static let intakeInterval = Duration.milliseconds(50)

  /// A job that waits, where it is taken in next; `nil` when there is none of this id.
  public func waitingJob(_ id: String) async throws -> QueuedJob? {
    try await copies(of: id).last?.queued
  }

  /// The jobs that wait; of a long list those that are taken in next.
  public func waiting() async throws -> JobQueue {
    var queue = JobQueue()
    var known: [String: QueuedJob] = [:]
    var order: [String] = []
    let note: (Waiting) -> Void = { waiting in
      guard let queued = waiting.queued else { return queue.nameless += 1 }
      if known.updateValue(queued, forKey: queued.outline.id) == nil { order.append(queued.outline.id) }
    }
    var pipeline = RedisPipeline()
    pipeline.append("LLEN", keys.campaigns)
    queue.unseen = max(0, (try await run(pipeline)[0].integer ?? 0) - Self.queueView)
    try await forEachWaiting(in: keys.campaigns, worker: nil, from: queue.unseen, note)
    for worker in try await store.fleet.workers() {
      try await forEachWaiting(in: keys.intake(worker: worker), worker: worker, note)
    }
    queue.jobs = order.compactMap { known[$0] }
    return queue
  }

  /// Takes a job off the list of producers, every copy of it. A worker that takes it meanwhile has it.
  ///
  /// - Parameter patience: ms to wait for a worker that is taking it in, until it is a campaign.
  /// - Returns: whether it was taken off; false when it is a campaign by now, is still being taken in, or is nowhere.
  public func unqueue(_ id: String, patience: Int) async throws -> Bool {
    let end = ContinuousClock.now + .milliseconds(patience)
    while true {
      let copies = try await copies(of: id)
      var count = 0
      for copy in copies where copy.queued.list == keys.campaigns { count += try await unqueue(copy.job, id) }
      // What a worker has becomes a campaign, or comes back to the list when the worker is dead.
      let isTaken = count == 0 && !copies.isEmpty || copies.contains { $0.queued.list != keys.campaigns }
      guard isTaken, ContinuousClock.now < end, try await store.campaigns.standing(of: id) == nil else {
        return count > 0 && !isTaken
      }
      try await Task.sleep(for: Self.intakeInterval)
    }
  }

  /// - Returns: how many copies were taken off.
  private func unqueue(_ job: [UInt8], _ id: String) async throws -> Int {
    if let run = RunRequest.id(job) { return try await unqueue(run: run, request: job) }
    let forms = try forms(of: job)
    var pipeline = RedisPipeline(reserving: job.count + forms.count + 256)
    pipeline.script(StoreScripts.unqueue, keys: [keys.campaigns, keys.job(id)]) {
      $0.append(job)
      $0.append(forms.meaning)
      $0.append(forms.written)
    }
    return try await run(pipeline)[0].integer ?? 0
  }

  /// What is known of an id, whatever became of its job; `nil` when none was submitted or taken in within ``idMemory``.
  public func memory(of id: String) async throws -> JobMemory? {
    var pipeline = RedisPipeline()
    pipeline.append("STRLEN", keys.job(id))
    pipeline.append("EXISTS", keys.campaign(id))
    let replies = try await run(pipeline)
    let length = replies[0].integer ?? 0
    // The digest alone has 40 bytes.
    if length > 40 || replies[1].integer == 1 { return .activated }
    return length > 0 ? .submitted : nil
  }

  // MARK: Walking over jobs

  /// The jobs that wait and contain a text, with what they say of themselves.
  func waitingJobs(containing text: String) async throws -> [(outline: JobOutline, job: [UInt8])] {
    var found: [(outline: JobOutline, job: [UInt8])] = []
    let note: (Waiting) -> Void = { waiting in
      guard let outline = waiting.queued?.outline, waiting.job.contains(text.utf8) else { return }
      found.append((outline, waiting.job))
    }
    try await forEachWaiting(in: keys.campaigns, worker: nil, note)
    for worker in try await store.fleet.workers() {
      try await forEachWaiting(in: keys.intake(worker: worker), worker: worker, note)
    }
    return found
  }

  /// The ids of jobs that wait, or that a worker takes in, and pass a test.
  func waitingIDs(where passes: ([UInt8]) -> Bool) async throws -> Set<String> {
    var found: Set<String> = []
    let note: (Waiting) -> Void = { waiting in
      guard let id = waiting.queued?.outline.id, passes(waiting.job) else { return }
      found.insert(id)
    }
    try await forEachWaiting(in: keys.campaigns, worker: nil, note)
    for worker in try await store.fleet.workers() {
      try await forEachWaiting(in: keys.intake(worker: worker), worker: worker, note)
    }
    // A job of a worker that died goes back to the list of producers.
    try await forEachWaiting(in: keys.campaigns, worker: nil, note)
    return found
  }

  /// A job as it stands on a list.
  private struct Waiting {
    var job: [UInt8]
    /// `nil` when it gives no id.
    var queued: QueuedJob?
  }

  /// The jobs of an id, each way it is written once, in the order in which a job goes through the lists.
  private func copies(of id: String) async throws -> [(job: [UInt8], queued: QueuedJob)] {
    var copies: [(job: [UInt8], queued: QueuedJob)] = []
    let note: (Waiting) -> Void = { waiting in
      guard let queued = waiting.queued, queued.outline.id == id else { return }
      copies.removeAll { $0.queued.list == queued.list && $0.job == waiting.job }
      copies.append((waiting.job, queued))
    }
    try await forEachWaiting(in: keys.campaigns, worker: nil, note)
    for worker in try await store.fleet.workers() {
      try await forEachWaiting(in: keys.intake(worker: worker), worker: worker, note)
    }
    return copies
  }

  /// Walks over the jobs of a list, from the one that came last on. Jobs come at that end and leave at the other: none
  /// that stays is passed over, and one may come twice, the second time at a place nearer to its turn.
  private func forEachWaiting(
    in list: String, worker: String?, from start: Int = 0, _ body: (Waiting) -> Void
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
        let outline = RunRequest.id(job).map { JobOutline(id: $0) } ?? JobOutline(job)
        body(Waiting(job: job, queued: outline.map { QueuedJob(outline: $0, place: place, list: list) }))
      }
      first += page.count - 1
    }
  }
}
