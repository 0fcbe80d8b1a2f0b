@testable import APNs
import PushCore
import ServiceTools
import TestKit
import TestSupport
import Testing

/// Dates in a Live Activity's push: durations from the campaign's start, instants, and an automatic timestamp.
@Suite("Dates of Live Activities")
struct ActivityDatesTests {
  private static let start = 1_800_000_000
  private static let apps = JobApps.known(["news": [APNsService(AppTraits(topic: "com.example.news"))]])

  private func activity(_ aps: String, _ more: [String: String] = [:]) -> [UInt8] {
    let payload = #"{"aps":{\#(aps)}}"#
    return Array(job(more.merging(["payload": payload, "pushType": "\"liveactivity\""]) { first, _ in first }).utf8)
  }

  private func dated(_ job: [UInt8], start: Int = start) throws -> String? {
    let root = try JSONValue(parsing: job, maximumDepth: CampaignJob.maximumNesting)
    return try APNsService().dated(root, job, start: start).map { String(decoding: $0, as: UTF8.self) }
  }

  private func payload(_ job: [UInt8], now: Int? = start) throws -> String {
    String(decoding: try CampaignJob.parse(job, Self.apps, now: now).message.payload, as: UTF8.self)
  }

  private func refusal(_ aps: String, _ more: [String: String] = [:]) -> JobError? {
    #expect(throws: JobError.self) { try CampaignJob.parse(activity(aps, more), Self.apps, now: Self.start) }
  }

  @Test("durations count from the start, instants stay, and the default of timestamp is the start")
  func datesAreWrittenOut() throws {
    let end = #""event":"end","content-state":{"n":1}"#
    expect(
      try payload(activity(#"\#(end),"dismissal-date":"15m","stale-date":"2h""#)),
      is:
        #"{"aps":{"timestamp":1800000000,"event":"end","content-state":{"n":1},"dismissal-date":1800000900,"stale-date":1800007200}}"#
    )
    expect(
      try payload(activity(#""timestamp":"2027-01-15T08:00:00Z",\#(end),"dismissal-date":"0s""#)),
      is: #"{"aps":{"timestamp":1800000000,"event":"end","content-state":{"n":1},"dismissal-date":1800000000}}"#)
    // Numbers keep their notation.
    expect(
      try payload(activity(#"\#(end),"timestamp":1.8e9,"stale-date":1800000060"#)),
      is: #"{"aps":{"event":"end","content-state":{"n":1},"timestamp":1.8e9,"stale-date":1800000060}}"#)
    expect(try payload(activity(#"\#(end),"timestamp":null"#)).contains(#""timestamp":1800000000"#))
    expect(try dated(activity(#"\#(end),"timestamp":1"#)), is: nil)
    // Values in the state of the event are never dates.
    expect(
      try payload(activity(#""event":"update","content-state":{"timestamp":"2h"}"#)).contains(#"{"timestamp":"2h"}"#))
  }

  @Test("a stored job keeps its durations, and a campaign without parts gets its dates from its start")
  func storedJobGetsItsDatesAtTheStart() throws {
    let job = activity(#""event":"update","content-state":{},"stale-date":"1h""#)
    for start in [Self.start, Self.start + 7200] {
      let campaign = try CampaignJob.part(CampaignID("live"), of: job, Self.apps, start: start)
      let payload = String(decoding: campaign.message.payload, as: UTF8.self)
      expect(payload.contains(#""timestamp":\#(start)"#) && payload.contains(#""stale-date":\#(start + 3600)"#))
    }
  }

  @Test("durations in variants become dates too, in merge patches and in complete payloads")
  func datesOfVariants() throws {
    let differing = activity(
      #""event":"update","content-state":{}"#,
      ["variants": #"[{"name":"a"},{"name":"b","apns":{"payload":{"aps":{"stale-date":"1h"}}}}]"#])
    expect(try dated(differing)?.contains(#""apns":{"payload":{"aps":{"stale-date":1800003600}}}"#), is: true)
    let whole = activity(
      "",
      [
        "payload": "",
        "variants":
          #"[{"name":"a","apns":{"payload":{"aps":{"event":"end"}}}},{"name":"b","apns":{"payload":{"aps":{}}}}]"#,
      ])
    expect(
      try dated(whole)?.contains(#"{"aps":{"timestamp":1800000000,"event":"end"}}"#) == true
        && dated(whole)?.contains(#"{"aps":{"timestamp":1800000000}}"#) == true)
    let wrong = refusal(
      #""event":"update","content-state":{}"#,
      ["variants": #"[{"name":"a"},{"name":"b","apns":{"payload":{"aps":{"stale-date":"soon"}}}}]"#])
    expect(wrong?.field, is: "variants[1].apns.payload.aps.stale-date")
  }

  @Test("durations count from the campaign's send time, or from now if it has none")
  func countsFromSendAt() throws {
    let update = #""event":"update","content-state":{},"stale-date":"1h""#
    let later = activity(update, ["sendAt": "\"2027-01-15T09:00:00Z\""])
    expect(try payload(later).contains(#""timestamp":1800003600,"#))
    expect(try payload(later).contains(#""stale-date":1800007200"#))
    // The campaign begins now if `sendAt` has passed.
    let earlier = activity(update, ["sendAt": "\"2026-01-15T09:00:00Z\"", "late": "\"365d\""])
    expect(try payload(earlier).contains(#""timestamp":1800000000,"#))
  }

  @Test("a date that replaced a duration stays the same when the job is read again")
  func isWrittenOnce() throws {
    let job = activity(#""event":"update","content-state":{},"stale-date":"1h""#)
    let written = Array(try #require(try dated(job)).utf8)
    expect(try dated(written, start: Self.start + 3600), is: nil)
    expect(try payload(written, now: Self.start + 3600), is: try payload(job))
    // Only Live Activities have dates.
    let alert = Array(TestSupport.job(["payload": #"{"aps":{"alert":"a","stale-date":"1h"}}"#]).utf8)
    expect(try dated(alert), is: nil)
  }

  @Test("languages and templates have dates too, and every language has a timestamp")
  func languagesAndTemplates() throws {
    let update = #"{"aps":{"event":"update","content-state":{"a":"x"}}}"#
    let patches = #"{"de":{"apns":{"payload":{"aps":{"stale-date":"2h","timestamp":null,"content-state":{"a":"y"}}}}}}"#
    let localized = Array(
      job(["payload": update, "pushType": "\"liveactivity\"", "localized": patches]).utf8)
    let text = try #require(try dated(localized))
    expect(
      text.contains(#""de":{"apns":{"payload":{"aps":{"stale-date":1800007200,"timestamp":1800000000,"#), "\(text)")
    expect(text.contains(#""apns":{"payload":{"aps":{"timestamp":1800000000,"event":"update""#), "\(text)")
    let template = #"{"name":"goal","version":1,"apns":{"payload":\#(update)},"localized":\#(patches)}"#
    let resolved = Array(job(["payload": "", "template": template, "pushType": "\"liveactivity\""]).utf8)
    let campaign = try CampaignJob.parse(resolved, Self.apps, now: Self.start)
    expect(String(decoding: campaign.message.payload, as: UTF8.self).contains(#""timestamp":1800000000"#))
    expect(try dated(resolved)?.contains(#""stale-date":1800007200"#), is: true)
  }

  static let refused: [(aps: String, more: [String: String], field: String, says: String)] = [
    (#""stale-date":"2x""#, [:], "apns.payload.aps.stale-date", "'2x' is not a date"),
    (#""dismissal-date":"tomorrow""#, [:], "apns.payload.aps.dismissal-date", "is not a date"),
    (#""dismissal-date":"-15m""#, [:], "apns.payload.aps.dismissal-date", "is not a date"),
    (#""dismissal-date":"1969-01-01T00:00:00Z""#, [:], "apns.payload.aps.dismissal-date", "is not a date"),
    (#""stale-date":true"#, [:], "apns.payload.aps.stale-date", "must be a number"),
    (#""timestamp":"5m""#, [:], "apns.payload.aps.timestamp", "ignore every other update until then"),
    (
      #""stale-date":"2h""#, ["localTime": "true", "sendAt": "\"2027-01-15T09:00:00\""], "apns.payload.aps.stale-date",
      "each device has its own time"
    ),
    (
      #""stale-date":"2027-01-15T09:00:00Z""#, ["repeat": #"{"cron":"0 9 * * *"}"#], "apns.payload.aps.stale-date",
      "the job is recurring"
    ),
    (
      #""x":1"#,
      ["localized": #"{"de":{"apns":{"payload":{"aps":{"stale-date":"soon"}}}}}"#],
      "localized.de.apns.payload.aps.stale-date", "'soon' is not a date"
    ),
  ]

  @Test("a value that is not a date is refused, and the error names its path", arguments: refused)
  func refusesWhatIsNoDate(aps: String, more: [String: String], field: String, says: String) {
    let error = refusal(#""event":"end","content-state":{},\#(aps)"#, more)
    expect(error?.field, is: field)
    expect(error?.description.contains(says), is: true, "\(error?.description ?? "")")
  }

  @Test("with localTime devices have different starts, so timestamp is required")
  func localTimeNeedsATimestamp() {
    let error = refusal(
      #""event":"update","content-state":{}"#, ["localTime": "true", "sendAt": "\"2027-01-15T09:00:00\""])
    expect(error?.field == "apns.payload.aps.timestamp" && error?.message.contains("is missing") == true)
  }

  @Test("dates that are impossible for an activity get a warning")
  func warnings() throws {
    func warnings(_ event: String, _ dates: String) throws -> [String] {
      let more =
        event == "start" ? #","attributes-type":"A","attributes":{},"alert":{"title":"t","body":"b"}"# : ""
      let job = activity(#""event":"\#(event)","content-state":{}\#(more),\#(dates)"#)
      return try CampaignJob.examine(job, Self.apps, now: Self.start).findings
        .map { "\($0.rule.id) \($0.path.split(separator: ".").last ?? "")" }
    }
    expect(try warnings("start", #""stale-date":"12h""#), is: [])
    expect(try warnings("start", #""stale-date":"13h""#), is: ["activity-dates stale-date"])
    expect(try warnings("update", #""stale-date":"0s""#), is: ["activity-dates stale-date"])
    expect(try warnings("update", #""dismissal-date":"1h""#), is: ["activity-dates dismissal-date"])
    expect(try warnings("end", #""dismissal-date":"4h""#), is: [])
    expect(try warnings("end", #""dismissal-date":"5h""#), is: ["activity-dates dismissal-date"])
    expect(try warnings("end", #""dismissal-date":1"#), is: [])
  }

  @Test("the size includes the values that Carillon fills in")
  func sizeIsOfWhatIsSent() throws {
    let state = String(
      repeating: "x",
      count: 4096 - #"{"aps":{"timestamp":1800000000,"event":"end","content-state":{"a":""}}}"#.utf8.count)
    let most = #""event":"end","content-state":{"a":"\#(state)"}"#
    expect(try payload(activity(most)).utf8.count, is: 4096)
    let error = refusal(#""event":"end","content-state":{"a":"\#(state)x"}"#)
    expect(error?.message.contains("4097 bytes, which is 1 over"), is: true, "\(error?.message ?? "")")
  }

  @Test("lint checks a job and a template as they will be sent, and names the place of a wrong date")
  func lint() throws {
    let update = #"{"aps":{"event":"update","content-state":{},"stale-date":"2h"}}"#
    let good = Array(job(["payload": update, "pushType": "\"liveactivity\""]).utf8)
    expect(try APNsLint(good, apps: Self.apps, now: Self.start).result.findings.map(\.message), is: [])
    expect(
      try APNsLint(Array(#"{"apns":{"payload":\#(update)}}"#.utf8), now: Self.start).result.findings.map(\.message),
      is: [])
    let bad = Array(#"{"apns":{"payload":\#(update.replacing("2h", with: "2x"))}}"#.utf8)
    let finding = try #require(APNsLint(bad, now: Self.start).result.findings.first)
    expect(finding.path == "apns.payload.aps.stale-date" && finding.message.contains("is not a date"))
    expect(finding.position != nil)
    // A single payload may be for another sender, which does not support durations.
    let payload = try APNsLint(Array(update.utf8), now: Self.start).result.findings
    expect(
      payload.map(\.rule.id) == ["activity-timestamp", "aps-type"]
        || payload.map(\.rule.id) == ["aps-type", "activity-timestamp"])
  }
}
