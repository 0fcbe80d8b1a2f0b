import APNs
import TestKit
import TestSupport
import Testing

@testable import PushCore

/// Times of a job that can only be a mistake.
struct JobTimesTests {
  /// 2026-12-01T12:00:00Z.
  private static let now = 1_796_126_400
  private static let apps = JobApps.any([APNsService()])

  private func check(_ changes: [String: String]) throws -> JobError? {
    let changes = changes.merging(["payload": #"{"aps":{"alert":"hi"}}"#]) { own, _ in own }
    return try CampaignJob.check(Array(job(changes).utf8), Self.apps, now: Self.now).untimely
  }

  @Test(arguments: [
    (["sendAt": "2026-12-01T10:59:59Z"], "sendAt", "passed 60m ago, more than 1h"),
    (["sendAt": "2025-12-01T12:00:00Z"], "sendAt", "passed 365d ago"),
    (["sendAt": "2026-12-01T08:00:00Z", "late": "3h"], "sendAt", "more than 3h"),
    (["sendAt": "2027-12-03T12:00:00Z"], "sendAt", "more than 366 days ahead"),
    (["sendAt": "2026-12-01T09:59:00", "localTime": "true", "late": "0s"], "", ""),
    (["sendAt": "2026-11-30T20:00:00", "localTime": "true"], "sendAt", "no user would get it"),
    (["expiration": "2026-12-01T12:00:00Z"], "expiration", "has passed"),
    (["finishBy": "2026-12-01T11:00:00Z"], "finishBy", "has passed"),
    (
      ["repeat": #"{"cron":"0 9 * * *","end":"2026-12-01T11:00:00Z"}"#], "repeat",
      "no time of '0 9 * * *' remains before its end"
    ),
    // These times are valid.
    (["sendAt": "2026-12-01T11:00:00Z"], "", ""), (["sendAt": "2027-12-02T12:00:00Z"], "", ""),
    (["sendAt": "2026-11-30T12:00:00Z", "late": "1d"], "", ""),
    (["sendAt": "2026-11-30T20:00:00", "localTime": "true", "late": "9h"], "", ""),
    (["sendAt": "2026-01-01T12:00:00Z", "repeat": #"{"cron":"0 9 * * *"}"#], "", ""),
  ])
  func impossibleTimeIsAnError(fields: [String: String], field: String, part: String) throws {
    let quoted = fields.mapValues { $0 == "true" || $0.hasPrefix("{") ? $0 : "\"\($0)\"" }
    let problem = try check(quoted)
    expect(problem?.field ?? "" == field, "\(fields) \(problem?.description ?? "")")
    expect(problem?.message.contains(part) ?? part.isEmpty, "\(problem?.description ?? "")")
    // The job can still be parsed, because workers read it repeatedly, at any later time.
    _ = try CampaignJob.parse(
      Array(job(quoted.merging(["payload": #"{"aps":{"alert":"hi"}}"#]) { own, _ in own }).utf8), Self.apps)
  }

  @Test func lateNeedsATime() {
    for fields in [
      ["late": #""1h""#], ["late": #""1h""#, "sendAt": #""2026-12-01T11:00:00Z""#, "repeat": #"{"cron":"0 9 * * *"}"#],
    ] {
      #expect(throws: JobError.self) { try check(fields) }
    }
  }
}
