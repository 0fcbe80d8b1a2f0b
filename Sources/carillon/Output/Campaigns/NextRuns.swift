import CampaignStore
import PushCore

/// The next runs of a recurring job, as a help to read its cron expression.
struct NextRuns: Equatable {
  struct Run: Equatable {
    /// The id of the run's campaign.
    var id: String
    /// The start of the run, in UNIX seconds.
    var begins: Int
    /// The local time of the run, in seconds since 1970 as a clock in the zone shows it.
    var wall: Int
  }

  /// The time zone of the schedule; `nil` if each device's own time zone applies.
  var zone: String?
  /// The reason for the lack of runs; `nil` if runs are possible.
  var problem: String?
  var runs: [Run] = []

  /// Maximum number of runs to show.
  static let most = 5

  /// - Parameters:
  ///   - job: the job's JSON text.
  ///   - now: the present time, in UNIX seconds.
  /// - Returns: `nil` if the job is not recurring, or if its times can't be read.
  init?(_ job: [UInt8], zones: ZoneDatabase, now: Int) {
    guard let (id, timing) = CampaignJob.timing(of: job), let repetition = timing.repetition else { return nil }
    zone = timing.localTime == nil ? repetition.zone : nil
    guard let rules = zones.rules(repetition.zone) else {
      problem = "this machine has no time zone \(repetition.zone) in \(zones.folder)"
      return
    }
    var instant = now
    while runs.count < min(Self.most, repetition.count ?? .max),
      let next = repetition.next(after: instant, timing.localTime, in: rules)
    {
      runs.append(Run(id: Repetition.id(of: next, parent: id), begins: next.begins, wall: next.wall))
      instant = next.begins
    }
    if runs.isEmpty { problem = repetition.problemWithoutRun }
  }

  /// The runs as lines of text for people.
  var lines: [String] {
    if let problem { return ["no runs: \(problem)"] }
    let clocks = zone.map { "in time zone \($0)" } ?? "in each device's local time"
    return ["next runs, \(clocks):"]
      + runs.map { run in
        let begins = String(Timestamp.format(milliseconds: run.begins * 1000).prefix(19)) + "Z"
        return "    \(WallTime.format(run.wall).prefix(16))  \(zone == nil ? "starts " : "")\(begins)  \(run.id)"
      }
  }

  func write(to json: inout JSONWriter) {
    json.object("repeat") { json in
      json.member("zone", zone)
      json.member("problem", problem)
      json.objects("runs", runs) { json, run in
        json.member("id", run.id)
        json.member("at", WallTime.format(run.wall))
        json.member("begins", Timestamp.format(milliseconds: run.begins * 1000))
      }
    }
  }
}
