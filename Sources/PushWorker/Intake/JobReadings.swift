import CampaignStore
import PushCore

/// The jobs that a worker is reading to build the contexts of their campaigns. A reading parses one job. The slices of
/// a campaign share one reading.
struct JobReadings {
  /// Identifies a reading. After the partitions of a campaign have been fixed, its job is read one more time.
  struct Key: Hashable, Sendable {
    var campaign: String
    var round: Int
    var isNarrowed: Bool

    init(_ record: CampaignRecord) {
      (campaign, round, isNarrowed) = (record.id, record.resumes.round, record.placement.isNarrowed)
    }
  }

  /// Result of a reading: the campaign, and the campaigns of all legs that are expanded together, in their order. The
  /// list is empty for a campaign with one leg.
  typealias Reading = Result<(campaign: Campaign, legs: [Campaign]), JobError>

  /// Maximum number of results that wait to be taken. Each is a parsed job, which may have some megabytes.
  private static let most = 16

  private var pending: [Key: (task: Task<Reading, Never>, isLarge: Bool)] = [:]
  private var done: [Key: Reading] = [:]

  /// The campaigns whose large jobs are being read.
  var large: Set<String> { Set(pending.lazy.filter(\.value.isLarge).map(\.key.campaign)) }

  /// Whether a large job of the campaign is being read.
  func isReading(_ campaign: String) -> Bool {
    pending.contains { $0.key.campaign == campaign && $0.value.isLarge }
  }

  /// Removes and returns the result of a reading that has ended.
  mutating func take(_ key: Key) -> Reading? { done.removeValue(forKey: key) }

  /// Returns the reading of a job. Starts a reading if there is none. A caller that gets a new reading must call
  /// ``end(_:keeping:)`` when the reading has ended.
  ///
  /// - Parameter hook: Called with the job before it is read; `nil` except in tests.
  mutating func begin(
    _ key: Key, _ job: [UInt8], _ record: CampaignRecord, _ apps: JobApps, hook: (@Sendable ([UInt8]) -> Void)?
  ) -> (task: Task<Reading, Never>, isNew: Bool) {
    if let task = pending[key]?.task { return (task, false) }
    let task = Task { await Self.read(job, record, apps, hook) }
    pending[key] = (task, LargeJobs.isLarge(job))
    return (task, true)
  }

  /// Removes a reading that has ended.
  ///
  /// - Parameter kept: the result, if ``take(_:)`` must return it later; `nil` if the callers have it already.
  mutating func end(_ key: Key, keeping kept: Reading? = nil) {
    pending[key] = nil
    if done.count >= Self.most { done.removeAll() }
    if let kept { done[key] = kept }
  }

  @concurrent private static func read(
    _ job: [UInt8], _ record: CampaignRecord, _ apps: JobApps, _ hook: (@Sendable ([UInt8]) -> Void)?
  ) async -> Reading {
    @Sendable func parse() -> Reading {
      hook?(job)
      return Result { () throws(JobError) in
        let campaign = try record.campaign(job, apps)
        var legs: [Campaign] = []
        for id in campaign.expandedTogether {
          legs.append(id == campaign.id ? campaign : try record.campaign(job, apps, leg: id))
        }
        return (campaign, legs)
      }
    }
    return await LargeJobThread.read(job.count, parse)
  }
}
