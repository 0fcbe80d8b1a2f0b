import CampaignStore
import Dispatch
import PushCore

/// The jobs of campaigns that a worker reads to work on them. All slices that ask for a campaign meanwhile share one reading.
struct JobReadings {
  /// What a job is read for. A campaign whose partitions have been fixed since is read once more.
  struct Key: Hashable, Sendable {
    var campaign: String
    var round: Int
    var isNarrowed: Bool

    init(_ record: CampaignRecord) {
      (campaign, round, isNarrowed) = (record.id, record.round, record.isNarrowed)
    }
  }

  /// Readings whose campaign nobody has asked for again, at most: each has a parsed job, which may be some megabytes.
  private static let most = 16

  /// A thread for large jobs: one of them takes a fraction of a second, and Swift has only as many threads as cores.
  private static let queue = DispatchQueue(label: "large jobs of campaigns")

  private var underWay: [Key: Task<Result<Campaign, JobError>, Never>] = [:]
  private var done: [Key: Result<Campaign, JobError>] = [:]

  /// Whether a job of the campaign is being read.
  func isReading(_ campaign: String) -> Bool { underWay.keys.contains { $0.campaign == campaign } }

  /// Takes the result of a reading that has ended.
  mutating func take(_ key: Key) -> Result<Campaign, JobError>? { done.removeValue(forKey: key) }

  /// Returns the reading of a job, which begins unless it is under way. Whoever began it must call ``end(_:_:)``.
  mutating func begin(
    _ key: Key, _ job: [UInt8], _ record: CampaignRecord, _ apps: JobApps
  ) -> (task: Task<Result<Campaign, JobError>, Never>, isNew: Bool) {
    if let task = underWay[key] { return (task, false) }
    let task = Task { await Self.read(job, record, apps) }
    underWay[key] = task
    return (task, true)
  }

  /// A reading has ended.
  ///
  /// - Parameter kept: its result, where it is for whoever asks next.
  mutating func end(_ key: Key, keeping kept: Result<Campaign, JobError>? = nil) {
    underWay[key] = nil
    if done.count >= Self.most { done.removeAll() }
    if let kept { done[key] = kept }
  }

  @concurrent private static func read(
    _ job: [UInt8], _ record: CampaignRecord, _ apps: JobApps
  ) async -> Result<Campaign, JobError> {
    @Sendable func parse() -> Result<Campaign, JobError> {
      Result { () throws(JobError) in try record.campaign(job, apps) }
    }
    guard LargeJobs.isLarge(job) else { return parse() }
    return await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: parse()) }
    }
  }
}
