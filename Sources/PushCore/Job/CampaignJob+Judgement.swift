extension CampaignJob {
  /// The result of the checks of a new job.
  public struct Judgement: Sendable {
    /// The campaign, every default filled in.
    public var campaign: Campaign
    /// The rules that only warn.
    public var warnings: [Finding]
    /// What only the present time makes wrong, such as a `sendAt` that has passed; `nil` for nothing. A job that is already
    /// known was judged when it was new.
    public var untimely: JobError?
  }

  /// Judges a job by every rule that needs no store. The commands, the API and the workers call it for new jobs.
  ///
  /// - Parameters:
  ///   - job: one JSON object in UTF-8.
  ///   - apps: those that it may be for.
  ///   - now: UNIX seconds.
  /// - Throws: the first thing that is wrong whatever the time is.
  public static func judge(_ job: [UInt8], _ apps: JobApps, now: Int) throws(JobError) -> Judgement {
    let untimely: JobError
    do {
      let (campaign, findings) = try examine(job, apps, now: now)
      guard let finding = findings.first(where: { $0.rule.severity == .error }) else {
        return Judgement(campaign: campaign, warnings: findings)
      }
      untimely = JobError(finding)
    } catch {
      untimely = error
    }
    let (campaign, findings) = try examine(job, apps)
    if let finding = findings.first(where: { $0.rule.severity == .error }) { throw JobError(finding) }
    return Judgement(campaign: campaign, warnings: findings, untimely: untimely)
  }
}
