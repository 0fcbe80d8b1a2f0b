public import PushCore
import Redis

/// Result of submitting or taking in a job.
public enum Admission: String, Sendable {
  /// The job is new.
  case new
  /// The same job is known under the same id. Nothing changes.
  case duplicate
  /// Another job has this id.
  case conflict
}

/// Intake: the way of a job from the producers' list to an active campaign.
extension Queue {
  /// Time for which an id stays reserved for its job, in seconds: 90 days.
  static let idMemory = 90 * 86400

  /// Puts a job on the intake list, unless its id is taken.
  ///
  /// - Parameters:
  ///   - job: the job as written.
  ///   - campaign: the campaign that the job describes.
  ///   - person: the person who submits it; `nil` if unknown.
  ///   - key: the job's key in the dead list, which it then leaves; `nil` if the job is not from there.
  ///   - untimely: the error of a job that is wrong only at the present time. A job that is already known counts as
  ///     known despite this error.
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
    let forms = try forms(of: job)
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

  /// Returns the server's id of the connection that will wait for jobs, for ``endWait(of:)``.
  public func intakeConnection() async throws -> Int? {
    var pipeline = RedisPipeline()
    pipeline.append("CLIENT", "ID")
    return try await run(pipeline)[0].integer
  }

  /// Waits for a job and moves it to the worker's own list. It stays there until `activate` or `deadLetter` removes it.
  ///
  /// - Parameters:
  ///   - worker: the worker's name.
  ///   - seconds: the time to wait. The wait blocks the connection, so it needs a connection of its own.
  ///   - now: approximate time in ms since the epoch, by Redis' clock.
  public func awaitJob(worker: String, seconds: Int, now: Int) async throws -> [UInt8]? {
    var pipeline = RedisPipeline()
    // The worker may hold a job from now on. It is listed, so that others notice when its heartbeats end.
    pipeline.append("ZADD", keys.workers, "NX", now, worker)
    pipeline.append("BLMOVE", keys.campaigns, keys.intake(worker: worker), "RIGHT", "LEFT", seconds)
    let replies = try await redis.execute(pipeline, timeout: .seconds(seconds + 10))
    // The server has become a replica. The client leaves it as soon as a reply says so.
    if replies[1].error?.code == .unblocked { return nil }
    return try await store.checked(replies, of: pipeline)[1].bytes.map(Array.init)
  }

  /// Ends the wait of another connection for a job, if it waits.
  public func endWait(of connection: Int) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("CLIENT", "UNBLOCK", connection)
    _ = try await run(pipeline)
  }

  /// Returns the oldest job on a worker's list that the worker is not taking in: an earlier process of the worker or an
  /// error left it there.
  ///
  /// - Parameter inHand: the jobs of the list that are being taken in.
  public func unfinishedJob(worker: String, besides inHand: [[UInt8]] = []) async throws -> [UInt8]? {
    var pipeline = RedisPipeline()
    pipeline.append("LRANGE", keys.intake(worker: worker), -1 - inHand.count, -1)
    return try await run(pipeline)[0].compactMap { $0.bytes.map(Array.init) }.last { !inHand.contains($0) }
  }

  /// Makes a campaign of a job: reserves its id, writes the audience that it lists, and opens its slices.
  ///
  /// Every step can be repeated, so a worker that dies in between loses nothing.
  ///
  /// - Parameters:
  ///   - resolved: the job with the content of its template, if it names one.
  ///   - request: the entry of the worker's list: a run's request (``RunRequest``), or the job as its producer wrote it
  ///     if an erasure has changed the job.
  ///   - original: the job as its producer wrote it if an erasure has changed it. The id's digest is of this text.
  ///   - narrowed: whether the campaign keeps a slice in every partition and already has its definitions. This is so
  ///     for a campaign that Redis has lost, because workers may hold slices in any partition.
  ///   - approval: the reason why it needs approval; `nil` if it needs none.
  ///   - reached: users and pushes, for the approver; `nil` if they were not counted.
  ///   - untimely: the error of a job that is wrong only at the present time. A job from the command line or the API
  ///     was checked when it was submitted, and is known. A job that a producer pushed raw is new, and is refused.
  /// - Throws: ``StoreError`` `invalid` for every job that ``check(_:)`` refuses and for an untimely job that is new. A
  ///   conflict is returned, and leaves the job on its list.
  public func activate(
    _ campaign: Campaign, job: [UInt8], resolved: [UInt8]? = nil, request: [UInt8]? = nil, original: [UInt8]? = nil,
    worker: String, narrowed: Bool = false, approval: String? = nil, reached: Reached? = nil, untimely: JobError? = nil
  ) async throws -> Admission {
    try await store.pinned().queue.activateHere(
      campaign, job: job, resolved ?? job, request: request, original: original, worker: worker, narrowed: narrowed,
      approval: approval, reached: reached, untimely: untimely)
  }

  /// Activates a campaign on one connection, because the listed audience must be on the server that gets the campaign.
  private func activateHere(
    _ campaign: Campaign, job: [UInt8], _ resolved: [UInt8], request: [UInt8]?, original: [UInt8]?, worker: String,
    narrowed: Bool, approval: String?, reached: Reached?, untimely: JobError?
  ) async throws -> Admission {
    var campaign = campaign
    campaign.recipients.definitions = try await check(campaign)
    if !narrowed { try await checkStages(of: campaign) }
    let forms = try forms(of: original ?? job)
    var pipeline = RedisPipeline(reserving: forms.count + 256)
    pipeline.script(StoreScripts.reserve, keys: [keys.job(campaign.id), keys.campaign(campaign.id)]) {
      $0.append(forms.meaning)
      $0.append(Self.idMemory)
      $0.append(forms.written)
      $0.append(untimely == nil ? "" : "1")
    }
    pipeline.append("GET", keys.submitter(campaign.id))
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
    let now = try await store.time() / 1000
    if let first = try firstRun(of: campaign, now: now) {
      // A recurring campaign itself sends no pushes.
      campaign.delivery.sendAt = first
      return try await write(
        campaign, job: job, request: request, digest: digest, partitions: [], start: now / 1000, worker: worker)
    }
    let partitions = try await writeAudience(of: campaign)
    let start = max(now, campaign.delivery.sendAt ?? 0) / 1000
    return try await write(
      campaign, job: job, dated(resolved, of: campaign, start: start), request: request, digest: digest,
      partitions: partitions, start: start, worker: worker, narrowed: narrowed, approval: approval,
      reached: reached)
  }

  /// Returns who submitted a job. Only the call that submitted it decides this, and never the text of a raw job. A run
  /// has the submitter of its recurring campaign.
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

  /// Returns the job as the campaign stores it. Times that count from the campaign's start are written out, so that
  /// every push has the same values. In a campaign with parts they count from the start of each part
  /// (``PushCore/CampaignJob/part(_:of:_:start:variant:)``).
  private func dated(_ job: [UInt8], of campaign: Campaign, start: Int) throws(StoreError) -> [UInt8] {
    guard campaign.parts.isEmpty else { return job }
    do {
      return try services.service(ofApp: campaign.app).dated(job, pushType: campaign.message.pushType, start: start)
        ?? job
    } catch {
      throw StoreError(invalid: error)
    }
  }

  /// Writes the campaign with its parts. Its audience must have been written before.
  ///
  /// - Parameters:
  ///   - request: the entry on the worker's list, if it differs from the job.
  ///   - digest: the digest for which the id was reserved.
  ///   - start: the start of the campaign, in UNIX seconds.
  ///   - approval: the reason why it needs approval; `nil` if it needs none.
  ///   - reached: users and pushes, for the approver; `nil` if they were not counted.
  func write(
    _ campaign: Campaign, job: [UInt8], _ resolved: [UInt8]? = nil, request: [UInt8]? = nil, digest: String,
    partitions: [Int], start: Int, worker: String, narrowed: Bool = false, approval: String? = nil,
    reached: Reached? = nil
  ) async throws -> Admission {
    let minified = JSONValue.minified((resolved ?? job)[...])
    // A campaign that Redis has lost and a worker restores was taken in before, whatever its recurring campaign lists
    // now.
    let parent = narrowed ? campaign.id : Repetition.run(campaign.id)?.parent ?? campaign.id
    let parts = campaign.parts.map { CampaignID(whole: campaign.id, part: $0) }
    let ids = [campaign.id] + parts.map(\.description)
    var pipeline = RedisPipeline(reserving: job.count + minified.count + 256 * (1 + parts.count))
    pipeline.script(
      StoreScripts.activate,
      keys: [
        keys.campaign(campaign.id), keys.job(campaign.id), keys.intake(worker: worker),
        keys.lane(campaign.delivery.lane.rawValue), keys.all, keys.running, keys.schedule, keys.ended, keys.gates,
        keys.wake,
        keys.store, keys.changes, keys.campaign(parent), keys.attempts, keys.approvals,
      ] + ids.flatMap { [keys.campaign($0), keys.open($0), keys.finished($0)] }
    ) { arguments in
      arguments.append(request ?? job)
      arguments.append(Self.idMemory)
      arguments.append(campaign.delivery.sendAt ?? 0)
      arguments.append(digest)
      arguments.append(keys.partitions)
      arguments.append(approval ?? "")
      arguments.append(partitions.count)
      for partition in partitions { arguments.append(partition) }
      arguments.append(PartitionBitmap(allBut: partitions, of: keys.partitions).bytes)
      var fields = fields(of: campaign, start: start, narrowed: narrowed) + ownFields(of: campaign)
      if let reached {
        fields.append(("reachedTargets", "\(reached.targets)"))
        if let users = reached.users { fields.append(("reachedUsers", "\(users)")) }
      }
      arguments.append(campaign.id)
      arguments.append(parts.isEmpty ? "sent" : "parts")
      arguments.append(2 * fields.count + 2)
      for (field, value) in fields {
        arguments.append(field)
        arguments.append(value)
      }
      arguments.append("job")
      arguments.append(minified)
      for id in parts {
        guard let part = id.part else { continue }
        let isFirst = campaign.place(of: part.stage) == 0
        // The partitions and definitions of a later stage are fixed when the stage begins.
        fields =
          self.fields(of: campaign, start: isFirst ? start : nil, narrowed: narrowed && isFirst) + [("of", id.whole)]
        arguments.append(id.description)
        arguments.append(isFirst ? "sent" : "gated")
        arguments.append(2 * fields.count)
        for (field, value) in fields {
          arguments.append(field)
          arguments.append(value)
        }
      }
    }
    let answer = try await run(pipeline)[0].integer
    if answer == 1 { return .new }
    if answer == 2 {
      try await store.campaigns.end(campaign.id)
      return .new
    }
    if answer == -2 {
      // The recurring campaign does not list this run, so no worker begins it. The request leaves the list.
      try await acknowledge(request ?? job, worker: worker)
      return .duplicate
    }
    // Another worker has activated the campaign, or nothing may begin. If the campaign has ended or does not exist yet,
    // no other step removes the audience that was written here.
    var isOurs = answer == -1
    if !isOurs { isOurs = try await store.campaigns.standing(of: campaign.id)?.state.isFinal ?? true }
    if isOurs {
      pipeline.removeAll()
      for partition in partitions {
        pipeline.append("UNLINK", keys.audience(partition, campaign.id))
        // Values that were uploaded beside the job can't be written again, so they stay.
        if !campaign.message.hasValuesBeside { pipeline.append("UNLINK", keys.values(partition, campaign.id)) }
      }
      _ = try await run(pipeline)
    }
    guard answer == 0 else { throw try await store.repartition.whyHeld() }
    return .duplicate
  }

  /// Returns the fields of a campaign, and of each of its parts.
  ///
  /// - Parameter start: the start in UNIX seconds; `nil` if it is not known yet.
  private func fields(of campaign: Campaign, start: Int?, narrowed: Bool) -> [(String, String)] {
    var fields: [(String, String)] = [
      ("app", campaign.app), ("service", services.service(ofApp: campaign.app).name),
      ("lane", campaign.delivery.lane.rawValue), ("ttl", String(campaign.timeToLive)),
      ("expiration", start.flatMap { campaign.commonExpiration(startingAt: $0) }.map(String.init) ?? ""),
    ]
    if let sendAt = campaign.delivery.sendAt, start != nil { fields.append(("sendAt", String(sendAt))) }
    if campaign.message.variants != nil { fields.append(("receipts", "\(Results.receiptsByVariant)")) }
    // The partitions of listed users and tokens are known. All others are determined when the campaign begins to
    // expand.
    if narrowed || !campaign.isSearchedFor { fields.append(("narrowed", "1")) }
    if campaign.isToUsers, !narrowed { fields.append(("awaits", "registrations")) }
    if !campaign.recipients.definitions.isEmpty {
      fields.append(("definitions", String(decoding: campaign.recipients.definitions.json, as: UTF8.self)))
    }
    return fields
  }

  /// Returns the fields that only a campaign has, and not its parts.
  private func ownFields(of campaign: Campaign) -> [(String, String)] {
    var fields: [(String, String)] = []
    if let person = campaign.submittedBy { fields.append(("submittedBy", person)) }
    if let repetition = campaign.delivery.timing.repetition { fields.append(("repeat", repetition.text)) }
    if let (parent, _) = Repetition.run(campaign.id) { fields.append(("run", parent)) }
    let parts = campaign.parts
    if !parts.isEmpty {
      fields.append(("parts", parts.map(\.description).joined(separator: " ")))
      fields.append(("stage", "0"))
    }
    switch campaign.delivery.rate {
    case .perSecond(let rate)?: fields.append(("rate", "\(rate)"))
    case .over(let seconds)?: fields.append(("spread", "\(seconds)"))
    case .until(let milliseconds)?: fields.append(("finishBy", "\(milliseconds)"))
    case nil: break
    }
    return fields
  }

  /// Refuses a campaign with stages that ends before its rest can begin.
  private func checkStages(of campaign: Campaign) async throws {
    guard campaign.delivery.stages != nil else { return }
    let start = max(try await store.time() / 1000, campaign.delivery.sendAt ?? 0) / 1000
    if let problem = campaign.problemOfStages(start: start) {
      throw StoreError(invalid: problem)
    }
  }

  /// Refuses errors that only the store can detect: a missing segment or earlier campaign, or a time too far ahead.
  ///
  /// - Returns: the definitions of segments on which its audience depends.
  @discardableResult
  public func check(_ campaign: Campaign) async throws -> SegmentDefinitions {
    var definitions = SegmentDefinitions()
    if case .segment(let expression) = campaign.recipients.audience {
      definitions = try await checkSegments(of: expression)
    }
    if let activity = campaign.activity { try await store.registry.checkActivity(activity) }
    if let expression = campaign.recipients.exclusion.segment {
      let excluded = try await checkSegments(of: expression, field: "audience.exclude.segment")
      definitions = definitions.or(excluded)
    }
    for id in campaign.earlier {
      if let problem = try await store.audiences.problem(ofEarlier: id) { throw problem }
    }
    if let problem = campaign.problemOfSchedule(now: try await store.time() / 1000) {
      throw StoreError(invalid: problem)
    }
    if campaign.delivery.timing.repetition != nil { _ = try firstRun(of: campaign, now: try await store.time() / 1000) }
    return definitions
  }

  /// Refuses an expression that names a segment which was never imported or defined. A misspelled `!churnd` would
  /// otherwise match all users.
  ///
  /// - Returns: the definitions of segments on which the expression depends.
  @discardableResult
  public func checkSegments(
    of expression: AudienceExpression, field: String = "audience.segment"
  ) async throws -> SegmentDefinitions {
    let names = expression.segmentNames
    guard !names.isEmpty else { return SegmentDefinitions() }
    let (known, definitions) = try await store.audiences.namesAndDefinitions()
    let reached: SegmentDefinitions
    do {
      reached = try definitions.reached(from: [expression])
    } catch {
      throw StoreError(.invalid, "\(field): \(error)", hint: "see `carillon segment list`, and define it otherwise")
    }
    let all = reached.all.values.reduce(into: names) { $0.formUnion($1.expression.segmentNames) }
    for name in all.sorted() where !known.contains(name) && reached[name] == nil {
      let user = reached.users(of: name).first
      throw StoreError(
        .invalid,
        "\(field): there is no segment \(Excerpt.quoted(name))"
          + (names.contains(name) ? "" : user.map { ", by which \($0) is defined" } ?? ""),
        hint: Nearest.match(name, among: known + definitions.all.keys).map { "did you mean \($0)?" }
          ?? "import it first: carillon segment import \(name) FILE")
    }
    return reached
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
      throw StoreError(.refused, "the intake script answered \(reply)", hint: "report this: it is a defect")
    }
    return admission
  }

  /// Returns the partitions in which a campaign has slices before it begins to expand: those of the users that its job
  /// lists, and all partitions for any other audience.
  func listedPartitions(of campaign: Campaign) -> [Int] {
    guard case .users(let users) = campaign.recipients.audience else { return Array(0..<keys.partitions) }
    // An erasure may have removed every user. The campaign needs at least one slice to end.
    if users.isEmpty { return [0] }
    return Set(users.map { Partition.of(user: $0, count: keys.partitions) }).sorted()
  }

  /// Writes listed users or tokens into their partitions.
  ///
  /// - Returns: the partitions that get a slice: those with a listed user or token. For an audience that is searched
  ///   for, all partitions.
  func writeAudience(of campaign: Campaign) async throws -> [Int] {
    try await keepValues(of: campaign)
    var members: [Int: [[UInt8]]] = [:]
    switch campaign.recipients.audience {
    case .segment, .campaign, .activity: return Array(0..<keys.partitions)
    case .users(let users):
      for user in users {
        members[Partition.of(user: user, count: keys.partitions), default: []].append(Array(user.utf8))
      }
    case .tokens(let tokens):
      let service = services.service(ofApp: campaign.app)
      for token in tokens {
        members[Partition.of(token: token.bytes, of: service, count: keys.partitions), default: []].append(token.bytes)
      }
    case .channel(let id):
      let service = services.service(ofApp: campaign.app)
      members[Partition.of(token: Array(id.utf8), of: service, count: keys.partitions)] = [Array(id.utf8)]
    }
    var pipeline = RedisPipeline()
    for (partition, list) in members {
      for start in stride(from: 0, to: list.count, by: CampaignStore.batch) {
        pipeline.command("SADD") { arguments in
          arguments.append(keys.audience(partition, campaign.id))
          for member in list[start..<min(start + CampaignStore.batch, list.count)] { arguments.append(member) }
        }
      }
    }
    for (partition, list) in members where !campaign.message.recipientValues.isEmpty {
      let known = list.filter { campaign.message.recipientValues[String(decoding: $0, as: UTF8.self)] != nil }
      // The values of one user may have several kilobytes.
      for start in stride(from: 0, to: known.count, by: Self.valuesBatch) {
        pipeline.command("HSET") { arguments in
          arguments.append(keys.values(partition, campaign.id))
          for user in known[start..<min(start + Self.valuesBatch, known.count)] {
            arguments.append(user)
            arguments.append(campaign.message.recipientValues[String(decoding: user, as: UTF8.self)] ?? [])
          }
        }
      }
    }
    if !pipeline.isEmpty { _ = try await run(pipeline) }
    // An erasure may have removed every member. The campaign needs at least one slice to end.
    return members.isEmpty ? [0] : members.keys.sorted()
  }
}
