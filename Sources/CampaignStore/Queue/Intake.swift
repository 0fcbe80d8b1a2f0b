public import PushCore
import Redis

/// Result of submitting or taking in a job.
public enum Admission: String, Sendable {
  /// The job is new.
  case new
  /// The same job is known under this id. Nothing changes.
  case duplicate
  /// Another job has this id, so this job is refused.
  case conflict
}

/// Intake: the steps from a job on the producers' list to an active campaign.
extension Queue {
  /// Time for which an id stays reserved for its job, in seconds: 90 days.
  static let idMemory = 90 * 86400

  /// Puts a job on the producers' list. If another job has its id, the job is not added.
  ///
  /// - Parameters:
  ///   - job: the text of the job.
  ///   - campaign: the campaign that the job describes.
  ///   - person: the person who submits it; `nil` if unknown.
  ///   - key: the job's key in the dead list, from which this call removes the job; `nil` if the job is not from the
  ///     dead list.
  ///   - untimely: the error of a job that has become invalid since it was written, for example because its send time
  ///     has passed. A job that is already known is accepted despite this error.
  /// - Throws: ``StoreError`` `invalid` for every job that ``check(_:)`` refuses and for an untimely job that is new.
  ///   `full` if Redis has no room for it. `notFound` if the job is no longer in the dead list.
  public func submit(
    _ job: [UInt8], as campaign: Campaign, by person: String? = nil, from key: String? = nil,
    untimely: JobError? = nil
  ) async throws -> Admission {
    var campaign = campaign
    campaign.recipients.definitions = try await check(campaign)
    try await checkStages(of: campaign)
    try await store.limits.checkRoom(for: campaign)
    let forms = try await forms(of: job)
    var pipeline = RedisPipeline(reserving: job.count + forms.count + 256)
    var names = [keys.job(campaign.id), keys.campaign(campaign.id), keys.campaigns]
    if key != nil { names.append(keys.dead) }
    if person != nil { names.append(keys.submitter(campaign.id)) }
    pipeline.script(StoreScripts.submit, keys: names) {
      $0.append(job)
      $0.append(forms.meaning)
      $0.append(Self.idMemory)
      $0.append(key ?? "")
      $0.append(person ?? "")
      $0.append(forms.written)
      $0.append(untimely == nil ? "" : "1")
    }
    let reply = try await run(pipeline)[0]
    if let untimely, reply.string == "refused" { throw StoreError(invalid: untimely) }
    if let key, reply.string == "gone" { throw noSuchDeadJob(key) }
    return try admission(reply)
  }

  /// Returns the id that Redis has given to the connection on which this store waits for jobs. ``endWait(of:)`` takes
  /// this id.
  public func intakeConnection() async throws -> Int? {
    var pipeline = RedisPipeline()
    pipeline.append("CLIENT", "ID")
    return try await run(pipeline)[0].integer
  }

  /// Waits for a job and moves it to the worker's own list. The job stays there until `activate` or `deadLetter`
  /// removes it.
  ///
  /// - Parameters:
  ///   - worker: the worker's name.
  ///   - seconds: the time to wait. The wait blocks the connection, so it needs a separate connection.
  ///   - now: approximate time in ms since the epoch, by Redis' clock.
  public func awaitJob(worker: String, seconds: Int, now: Int) async throws -> [UInt8]? {
    var pipeline = RedisPipeline()
    // From now on, the worker may hold a job. Add it to the list of workers, so that other workers notice if it dies.
    pipeline.append("ZADD", keys.workers, "NX", now, worker)
    pipeline.append("BLMOVE", keys.campaigns, keys.intake(worker: worker), "RIGHT", "LEFT", seconds)
    let replies = try await redis.execute(pipeline, timeout: .seconds(seconds + 10))
    // This error means that the server has become a replica. The client closes the connection after such a reply.
    if replies[1].error?.code == .unblocked { return nil }
    return try await store.checked(replies, of: pipeline)[1].bytes.map(Array.init)
  }

  /// Ends the wait for a job on another connection. Does nothing if that connection does not wait.
  public func endWait(of connection: Int) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("CLIENT", "UNBLOCK", connection)
    _ = try await run(pipeline)
  }

  /// Returns the oldest job on a worker's list that the worker is not taking in at present. An earlier process of the
  /// worker, or an error, has left such a job there.
  ///
  /// - Parameter inHand: the jobs of the list that are being taken in.
  public func unfinishedJob(worker: String, besides inHand: [[UInt8]] = []) async throws -> [UInt8]? {
    var pipeline = RedisPipeline()
    pipeline.append("LRANGE", keys.intake(worker: worker), -1 - inHand.count, -1)
    return try await run(pipeline)[0].compactMap { $0.bytes.map(Array.init) }.last { !inHand.contains($0) }
  }

  /// Turns a job into a campaign: reserves its id, writes the listed users or tokens, and opens its slices.
  ///
  /// Every step can be repeated, so a worker that dies in between loses nothing.
  ///
  /// - Parameters:
  ///   - resolved: the job with the content of its template, if it names a template.
  ///   - request: the entry on the worker's list, if this entry is not the text in `job`. It is a run's request
  ///     (``RunRequest``), or the job as its producer wrote it if an erasure has changed the job.
  ///   - original: the job as its producer wrote it, if an erasure has changed it. The digest in Redis is computed from
  ///     this text.
  ///   - narrowed: whether `campaign` already has its definitions, and needs a slice in every partition. This is true
  ///     for a campaign that Redis has lost, because workers may hold slices in any partition.
  ///   - approval: the reason why the campaign needs approval; `nil` if it needs none.
  ///   - reached: the estimated users and pushes, which the approver sees; `nil` if they were not counted.
  ///   - untimely: the error of a job that has become invalid since it was written, for example because its send time
  ///     has passed. A job from the command line or the API was checked when it was submitted, so it is known and
  ///     accepted. A job that a producer pushed on the list is new, and is refused.
  ///   - restored: the start in ms since the epoch of a campaign that Redis has lost; `nil` for a new campaign.
  /// - Throws: ``StoreError`` `invalid` for every job that ``check(_:)`` refuses, and for an untimely job that is new.
  ///   If another job has the id, the result is `conflict` and the job stays on its list.
  public func activate(
    _ campaign: Campaign, job: [UInt8], resolved: [UInt8]? = nil, request: [UInt8]? = nil, original: [UInt8]? = nil,
    worker: String, narrowed: Bool = false, approval: String? = nil, reached: Reached? = nil, untimely: JobError? = nil,
    restored: Int? = nil
  ) async throws -> Admission {
    try await store.pinned().queue.activateHere(
      campaign, job: job, resolved ?? job, request: request, original: original, worker: worker, narrowed: narrowed,
      approval: approval, reached: reached, untimely: untimely, restored: restored)
  }

  /// Activates a campaign on the pinned connections of this store. Otherwise a failover in the middle could write the
  /// listed users to one server and the campaign to another.
  private func activateHere(
    _ campaign: Campaign, job: [UInt8], _ resolved: [UInt8], request: [UInt8]?, original: [UInt8]?, worker: String,
    narrowed: Bool, approval: String?, reached: Reached?, untimely: JobError?, restored: Int?
  ) async throws -> Admission {
    var campaign = campaign
    campaign.recipients.definitions = try await check(campaign)
    if !narrowed { try await checkStages(of: campaign) }
    let forms = try await forms(of: original ?? job)
    var pipeline = RedisPipeline(reserving: forms.count + 256)
    pipeline.script(StoreScripts.reserve, keys: [keys.job(campaign.id), keys.campaign(campaign.id)]) {
      $0.append(forms.meaning)
      $0.append(Self.idMemory)
      $0.append(forms.written)
      $0.append(untimely == nil ? "" : "1")
    }
    pipeline.append("GET", keys.submitter(campaign.id))
    pipeline.append("TIME")
    let replies = try await run(pipeline)
    if let untimely, replies[0][0].string == "refused" { throw StoreError(invalid: untimely) }
    let (admission, digest) = (try admission(replies[0][0]), replies[0][1].string ?? "")
    campaign.submittedBy = try await submitter(of: campaign.id, replies[1].string ?? "", digest)
    guard admission == .new else {
      if admission == .duplicate {
        if let (parent, _) = Repetition.run(campaign.id) { try await endPending(parent) }
        try await acknowledge(request ?? job, worker: worker)
      }
      return admission
    }
    guard let now = replies[2].time.map({ $0 / 1000 }) else {
      throw StoreError(.refused, "TIME returned \(replies[2])", hint: "check that redis.url names a Redis server")
    }
    if let first = try firstRun(of: campaign, now: now) {
      // The recurring campaign itself sends no pushes. Its start time is the time of its first run.
      campaign.delivery.sendAt = first
      return try await write(
        campaign, job: job, request: request, digest: digest, partitions: [], start: now / 1000, worker: worker)
    }
    let partitions = try await writeAudience(of: campaign)
    let start = (restored ?? max(now, campaign.delivery.sendAt ?? 0)) / 1000
    return try await write(
      campaign, job: job, resolved, request: request, digest: digest, partitions: partitions, start: start,
      worker: worker, narrowed: narrowed, approval: approval, reached: reached, restored: restored)
  }

  /// Returns the submitter of a job. Only the call that submits a job records its submitter; a name in the text of the
  /// job is ignored. A run has the submitter of its recurring campaign.
  ///
  /// - Parameters:
  ///   - text: the value that `submit.lua` wrote.
  ///   - digest: the digest of the job.
  private func submitter(of id: String, _ text: String, _ digest: String) async throws -> String? {
    if let (parent, _) = Repetition.run(id) {
      var pipeline = RedisPipeline()
      pipeline.append("HGET", keys.campaign(parent), "submittedBy")
      return try await run(pipeline)[0].string
    }
    guard text.hasPrefix(digest + " ") else { return nil }
    return String(text.dropFirst(digest.utf8.count + 1))
  }

  func acknowledge(_ job: [UInt8], worker: String) async throws {
    var pipeline = RedisPipeline(reserving: job.count + 256)
    acknowledge(job, worker: worker, to: &pipeline)
    _ = try await run(pipeline)
  }

  func acknowledge(_ job: [UInt8], worker: String, to pipeline: inout RedisPipeline) {
    pipeline.script(StoreScripts.acknowledge, keys: [keys.intake(worker: worker), keys.attempts]) { $0.append(job) }
  }

  private func admission(_ reply: RedisReply) throws -> Admission {
    guard let admission = reply.string.flatMap(Admission.init(rawValue:)) else {
      throw StoreError(
        .refused, "the intake script returned \(reply)", hint: "this is a bug in Carillon: please report it")
    }
    return admission
  }
}
