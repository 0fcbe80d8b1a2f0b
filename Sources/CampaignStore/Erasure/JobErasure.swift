import PushCore
import Redis

/// The erasure of a user from the texts of producers: jobs of campaigns, waiting jobs and waiting events.
extension Erasure {
  /// Largest number of events that one call replaces, because `LPOS` reads the list for each of them.
  private static let replacedEvents = 20
  /// Number of events in a page.
  private static let erasedEventPage = 1000

  /// Returns a function that tells whether a text is one of the tokens. It accepts every form of a token that the
  /// service of the token accepts.
  func tokenTest(_ tokens: [Registry.OwnedToken]) -> @Sendable (String) -> Bool {
    { [services] text in
      tokens.contains { token in services[token.service]?.token(text)?.bytes == token.bytes }
    }
  }

  /// Returns the job without the given user; `nil` if the job does not name the user or can't be read.
  private func erasing(
    _ user: String, _ tokens: [Registry.OwnedToken], from job: [UInt8]
  ) async -> ErasedJob? {
    let isToken = tokenTest(tokens)
    return await LargeJobThread.read(job.count) { try? CampaignJob.erasing(user, from: job, isToken: isToken) }
  }

  /// Erases a user from the job of a campaign. The stored digest of the job does not change.
  ///
  /// - Parameter id: id of a campaign; a part has no job.
  /// - Returns: whether the job named the user or a token.
  func eraseFromJob(_ user: String, _ tokens: [Registry.OwnedToken], of id: String) async throws -> Bool {
    while true {
      var pipeline = RedisPipeline()
      pipeline.script(StoreScripts.listing, keys: [keys.campaign(id)]) { _ in }
      guard let job = try await run(pipeline)[0].bytes.map(Array.init),
        let erased = await erasing(user, tokens, from: job)
      else { return false }
      pipeline = RedisPipeline(reserving: job.count + erased.job.count + 256)
      pipeline.script(StoreScripts.replaceJob, keys: [keys.campaign(id)]) {
        $0.append(job)
        $0.append(erased.job)
      }
      if try await run(pipeline)[0].integer == 1 { return true }
    }
  }

  /// Returns the ids of jobs that list a user or one of the tokens, and that wait or are being taken in by a worker. A
  /// job that can't be read is included if it may name the user, because a worker will move it to the dead list.
  func waitingJobs(naming user: String, _ tokens: [Registry.OwnedToken]) async throws -> Set<String> {
    let (isToken, mayName) = (tokenTest(tokens), mentionTest(user, tokens))
    return try await store.queue.waitingIDs { job in
      await LargeJobThread.read(job.count) {
        do {
          return try CampaignJob.erasing(user, from: job, isToken: isToken) != nil
        } catch {
          return mayName(job)
        }
      }
    }
  }

  /// Removes from a job the users who were erased while the job waited. A worker calls this before it takes the job in.
  public func withoutErased(_ job: [UInt8]) async throws -> [UInt8] {
    var pipeline = RedisPipeline()
    pipeline.append("HGETALL", keys.erasing)
    let pairs = try await run(pipeline)[0]
    guard !pairs.isEmpty, let id = await JobOutline.read(job)?.id else { return job }
    var job = job
    for index in stride(from: 0, to: pairs.count - 1, by: 2) {
      guard let user = pairs[index].string, let pending = pairs[index + 1].string.flatMap(PendingErasure.init),
        pending.jobs.contains(id),
        let erased = await erasing(user, pending.tokens, from: job)
      else { continue }
      job = erased.job
    }
    return job
  }

  /// Erases a user from the waiting events that producers pushed before the erasure. If an event has no time, a worker
  /// uses the time at which it reads the event. Such an event would therefore restore the user.
  ///
  /// - Parameter instant: time of the erasure, in ms since the epoch.
  func eraseFromWaitingEvents(_ user: String, _ tokens: [Registry.OwnedToken], at instant: Int) async throws {
    for list in EventList.allCases {
      var (place, found): (Int, Set<[UInt8]>) = (0, [])
      while true {
        var pipeline = RedisPipeline()
        pipeline.append("LRANGE", keys.events(list), place, place + Self.erasedEventPage - 1)
        let page = try await run(pipeline)[0].compactMap { $0.bytes.map(Array.init) }
        found.formUnion(page.filter { Self.names($0, user, tokenTest(tokens), until: instant) })
        place += page.count
        if page.count < Self.erasedEventPage { break }
      }
      let events = Array(found)
      for page in events.batches(of: Self.replacedEvents) {
        var pipeline = RedisPipeline()
        pipeline.script(StoreScripts.eraseEvents, keys: [keys.events(list)]) {
          $0.append(CampaignJob.erasedEntry)
          for event in page { $0.append(event) }
        }
        _ = try await run(pipeline)
      }
    }
  }
}
