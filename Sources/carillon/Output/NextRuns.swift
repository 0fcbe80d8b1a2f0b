import CampaignStore
import PushCore

/// When the next campaigns of a job begin that asks for them again and again, for whoever wonders what five fields of crontab say.
struct NextRuns: Equatable {
  struct Run: Equatable {
    /// Of its campaign.
    var id: String
    /// Begins, in UNIX seconds.
    var begins: Int
    /// What the clocks that count show at its time.
    var wall: Int
  }

  /// Whose clocks count; `nil` for each device's own.
  var zone: String?
  /// Why there are none: a job that can't be run as it stands; `nil` where there may be some.
  var problem: String?
  var runs: [Run] = []

  /// How many are shown.
  static let most = 5

  /// - Parameters:
  ///   - job: as it was written.
  ///   - now: UNIX seconds.
  /// - Returns: `nil` for a job that is not repeated, or of which nobody can say when.
  init?(_ job: [UInt8], zones: ZoneDatabase, now: Int) {
    guard let (id, timing) = CampaignJob.timing(of: job), let repetition = timing.repetition else { return nil }
    zone = timing.localTime == nil ? repetition.zone : nil
    guard let rules = zones.rules(repetition.zone) else {
      problem = "there is no zone \(repetition.zone) among those of this machine, in \(zones.folder)"
      return
    }
    var instant = now
    while runs.count < min(Self.most, repetition.count ?? .max),
      let next = repetition.next(after: instant, timing.localTime, in: rules)
    {
      runs.append(Run(id: Repetition.id(of: next, parent: id), begins: next.begins, wall: next.wall))
      instant = next.begins
    }
    if runs.isEmpty { problem = "no time of \(Excerpt.quoted(repetition.text)) is left before its end" }
  }

  /// Lines for people.
  var lines: [String] {
    if let problem { return ["its runs: \(problem)"] }
    let clocks = zone.map { "by the clocks of \($0)" } ?? "by each device's own clock"
    return ["its next runs, \(clocks):"]
      + runs.map { run in
        let begins = String(Timestamp.format(milliseconds: run.begins * 1000).prefix(19)) + "Z"
        return "    \(WallTime.format(run.wall).prefix(16))  \(zone == nil ? "begins " : "")\(begins)  \(run.id)"
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
