/// The checks of a new job.
extension CampaignJob {
  /// Result of the checks of a new job.
  public struct CheckedJob: Sendable {
    /// Campaign with all defaults filled in.
    public var campaign: Campaign
    /// Broken push rules with the severity warning.
    public var warnings: [Finding]
    /// Error that depends only on the present time, such as a `sendAt` that has passed; `nil` for none. The caller can
    /// ignore the error for a job that is already known, because its times were checked when the job was new.
    public var untimely: JobError?
  }

  /// Checks a job with every rule that needs no data from the store. The commands, the API and the workers call this
  /// function for new jobs.
  ///
  /// - Parameters:
  ///   - job: one JSON object in UTF-8.
  ///   - apps: the allowed apps.
  ///   - now: UNIX seconds.
  /// - Throws: the first error that does not depend on the time.
  public static func check(_ job: [UInt8], _ apps: JobApps, now: Int) throws(JobError) -> CheckedJob {
    let untimely: JobError
    do {
      let (campaign, findings) = try examine(job, apps, now: now)
      guard let finding = findings.first(where: { $0.rule.severity == .error }) else {
        return CheckedJob(campaign: campaign, warnings: findings)
      }
      untimely = JobError(finding)
    } catch {
      untimely = error
    }
    let (campaign, findings) = try examine(job, apps)
    if let finding = findings.first(where: { $0.rule.severity == .error }) { throw JobError(finding) }
    return CheckedJob(campaign: campaign, warnings: findings, untimely: untimely)
  }
}
