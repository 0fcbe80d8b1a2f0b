/// Checks for impossible times in a job, such as a date in a wrong year.
extension Campaign {
  /// Maximum number of days that a campaign may be scheduled ahead. A later date is almost always a wrong year.
  public static let longestSchedule = 366

  /// Returns the error in the times of a job that is submitted at `now`.
  ///
  /// A `sendAt` in the past is allowed up to the job's `late` (default one hour).
  ///
  /// - Parameter now: ms since the epoch.
  /// - Returns: `nil` if all times are plausible.
  public func problemOfTimes(now: Int) -> JobError? {
    problemOfSchedule(now: now) ?? problemOfPast(now: now) ?? problemOfEnds(now: now)
  }

  /// Returns the error for a campaign that begins too far ahead.
  ///
  /// - Parameter now: ms since the epoch.
  public func problemOfSchedule(now: Int) -> JobError? {
    guard let sendAt = delivery.sendAt, sendAt - now > Self.longestSchedule * 86_400_000 else { return nil }
    return JobError(
      field: "sendAt",
      message: "\(Timestamp.format(milliseconds: sendAt)) is more than \(Self.longestSchedule) days ahead",
      hint: "check the year")
  }

  private func problemOfPast(now: Int) -> JobError? {
    guard let sendAt = delivery.sendAt else { return nil }
    let allowed = DurationText.format(milliseconds: delivery.timing.late * 1000)
    if let local = delivery.timing.localTime {
      let passed = now - local.ending * 1000
      guard passed > delivery.timing.late * 1000 else { return nil }
      return JobError(
        field: "sendAt",
        message: "\(WallTime.format(local.wall)) passed in the last time zone \(Self.rounded(passed)) ago, "
          + "more than \(allowed): no user would get it",
        hint: "check the date; to send it anyway set late, such as \"late\": \"\(Self.suggestedLate(passed))\"")
    }
    guard now - sendAt > delivery.timing.late * 1000 else { return nil }
    return JobError(
      field: "sendAt",
      message:
        "\(Timestamp.format(milliseconds: sendAt)) passed \(Self.rounded(now - sendAt)) ago, more than \(allowed)",
      hint: "check the date; to send immediately omit sendAt, or set late, such as "
        + "\"late\": \"\(Self.suggestedLate(now - sendAt))\"")
  }

  private func problemOfEnds(now: Int) -> JobError? {
    // An expiration that has passed is not checked here: the push service has a rule for it.
    if let repetition = delivery.timing.repetition, let end = repetition.end {
      let last = delivery.timing.localTime == nil ? end : end + LocalTime.furthestBehind
      if last * 1000 <= now {
        return JobError(field: "repeat", message: repetition.problemWithoutRun, hint: "check the year")
      }
    }
    if case .until(let milliseconds)? = delivery.rate, milliseconds <= now {
      return JobError(
        field: "finishBy", message: "\(Timestamp.format(milliseconds: milliseconds)) has passed",
        hint: "check the date, or omit finishBy for no limit")
    }
    return nil
  }

  /// Returns a time span for people: days, hours or minutes.
  private static func rounded(_ milliseconds: Int) -> String {
    for (unit, letter) in [(86_400_000, "d"), (3_600_000, "h")] where milliseconds >= 2 * unit {
      return "\(milliseconds / unit)\(letter)"
    }
    return "\(milliseconds / 60_000)m"
  }

  /// Returns the smallest value of `late` with which a job may begin this number of milliseconds after its `sendAt`, in
  /// whole hours or days. The value is rounded up, to leave some time to submit the job.
  private static func suggestedLate(_ milliseconds: Int) -> String {
    let hours = milliseconds / 3_600_000 + 1
    return hours < 48 ? "\(hours)h" : "\(hours / 24 + 1)d"
  }
}
