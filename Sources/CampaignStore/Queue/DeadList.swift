import PushCore
import Redis

/// A job or an event that could not be run.
public struct DeadJob: Sendable {
  /// Key of the entry in the dead list.
  public var key: String
  /// Time at which it was added to the dead list, in ms since the epoch.
  public var at: Int
  /// Description of the error.
  public var reason: String
  /// The next step for the user of Carillon; empty if the reason contains it.
  public var hint: String
  /// The id in the job; `nil` if it is not readable.
  public var id: String?
  /// Size of the original job in bytes.
  public var size: Int
  /// The job, or its beginning: see ``isCut``.
  public var job: [UInt8]
  /// The list from which a worker took an event; `nil` for a job.
  public var list: EventList?
  /// If the job is for one target, the user whose device it names; `nil` for any other job.
  public var user: String?

  /// Whether only the beginning of the job is stored, so that the job can't be run from the dead list.
  public var isCut: Bool { job.count < size }

  /// Reads an entry of the stream.
  init(_ entry: RedisReply) {
    key = entry[0].string ?? ""
    // The key of a stream entry consists of the time in ms and a sequence number.
    at = key.split(separator: "-").first.flatMap { Int($0) } ?? 0
    var fields: [String: RedisReply] = [:]
    let pairs = entry[1]
    for index in stride(from: 0, to: pairs.count - 1, by: 2) { fields[pairs[index].string ?? ""] = pairs[index + 1] }
    reason = fields["reason"]?.string ?? ""
    hint = fields["hint"]?.string ?? ""
    id = fields["id"]?.string.flatMap { $0.isEmpty ? nil : $0 }
    job = fields["job"]?.bytes.map(Array.init) ?? []
    list = fields["list"]?.string.flatMap(EventList.init(rawValue:))
    size = fields["size"]?.integer ?? job.count
    user = fields["user"]?.string
    if let time = fields["at"]?.integer { at = time }
  }
}

/// The dead list: jobs and events that could not be run, with the reason.
extension Queue {
  /// Maximum number of entries of the dead list.
  static let deadJobs = 10_000
  /// Maximum number of bytes of a job that the dead list stores. Only jobs that list thousands of users or tokens are
  /// larger, and their producer still has them.
  static let deadJobSize = 65_536
  /// Number of entries that are read in one command: at most a few megabytes.
  private static let deadPage = 50

  /// Moves a job that can't be run to the dead list, and releases the id that may have been reserved for it.
  ///
  /// - Parameter user: if the job is for one target, the user whose device it names; empty for any other job.
  /// - Returns: the key of the entry in the dead list.
  @discardableResult
  public func deadLetter(
    _ job: [UInt8], reason: String, hint: String, worker: String, user: String = ""
  ) async throws -> String {
    let id = await JobOutline.read(job)?.id
    // A job without an id has no id to release.
    let forms = try await id == nil ? JobForms.none : forms(of: job)
    var pipeline = RedisPipeline(reserving: job.count + forms.count + 512)
    pipeline.script(
      StoreScripts.deadLetter,
      keys: [keys.dead, keys.intake(worker: worker), keys.attempts] + (id.map { [keys.job($0)] } ?? [])
    ) {
      $0.append(job)
      $0.append(reason)
      $0.append(hint)
      $0.append(Self.deadJobs)
      $0.append(Self.deadJobSize)
      $0.append(forms.meaning)
      $0.append(id ?? "")
      $0.append(user)
      $0.append(forms.written)
    }
    return try await run(pipeline)[0].string ?? ""
  }

  /// Returns the newest entry of the dead list for a job with this id; `nil` if it is not among the newest 50 entries.
  public func deadJob(of id: String) async throws -> DeadJob? {
    try await deadPage(before: "+").first { $0.id == id }
  }

  /// Calls `body` for every entry of the dead list, newest first.
  public func forEachDeadJob(_ body: (DeadJob) throws -> Void) async throws {
    var end = "+"
    while true {
      let jobs = try await deadPage(before: end)
      for job in jobs { try body(job) }
      guard let last = jobs.last else { return }
      end = "(" + last.key
    }
  }

  /// Returns a job of the dead list.
  ///
  /// - Throws: ``StoreError`` `notFound`.
  public func deadJob(_ key: String) async throws -> DeadJob {
    guard Self.isStreamKey(key) else { throw noSuchDeadJob(key) }
    var pipeline = RedisPipeline()
    pipeline.append("XRANGE", keys.dead, key, key)
    guard let entry = try await run(pipeline)[0].first else { throw noSuchDeadJob(key) }
    return DeadJob(entry)
  }

  /// Removes a job from the dead list permanently.
  ///
  /// - Throws: ``StoreError`` `notFound`.
  public func dropDeadJob(_ key: String) async throws {
    guard Self.isStreamKey(key) else { throw noSuchDeadJob(key) }
    var pipeline = RedisPipeline()
    pipeline.append("XDEL", keys.dead, key)
    guard try await run(pipeline)[0].integer == 1 else { throw noSuchDeadJob(key) }
  }

  /// Returns the error for a key that names no job of the dead list.
  func noSuchDeadJob(_ key: String) -> StoreError {
    StoreError(
      .notFound, "there is no job \(Excerpt.quoted(key)) in the dead list",
      hint: "`carillon dead list` shows the keys; the list keeps the newest \(Self.deadJobs) jobs")
  }

  private func deadPage(before end: String) async throws -> [DeadJob] {
    var pipeline = RedisPipeline()
    pipeline.append("XREVRANGE", keys.dead, end, "-", "COUNT", Self.deadPage)
    return try await run(pipeline)[0].map(DeadJob.init)
  }
}
