import CampaignStore
import CommandSupport
import PushCore

/// The report of an entry of the dead list.
struct DeadJobReport: JSONReport {
  let job: DeadJob
  /// Maximum number of bytes of the job that the JSON object contains.
  private let limit: Int

  init(_ job: DeadJob, limit: Int = .max) {
    self.job = job
    self.limit = limit
  }

  func writeMembers(to json: inout JSONWriter) {
    json.member("key", job.key)
    json.member("at", Timestamp.format(milliseconds: job.at))
    json.member("id", job.id)
    json.member("reason", job.reason)
    json.member("hint", job.hint.isEmpty ? nil : job.hint)
    json.member("size", job.size)
    // `cut`: whether the stored job is incomplete and therefore can't be retried.
    json.member("cut", job.isCut)
    json.member("job", String(decoding: job.job.prefix(limit), as: UTF8.self))
  }

  /// The complete report as text for people.
  var text: String {
    var rows = [
      ["key", job.key], ["at", Timestamp.format(milliseconds: job.at)], ["id", job.id ?? "none, or unreadable"],
      ["reason", job.reason],
    ]
    if !job.hint.isEmpty { rows.append(["hint", job.hint]) }
    rows.append(["size", "\(job.size.grouped) bytes" + (job.isCut ? ", stored incompletely: it can't be retried" : "")])
    let text = String(decoding: job.job, as: UTF8.self)
    return TextTable(rows.map { $0.map(Excerpt.harmless) }).text + "\n\n" + Excerpt.harmless(text)
  }

  /// Returns the JSON output of a command on jobs: `{"retried":["…"]}`.
  static func keys(_ keys: [String], as verb: String) -> String {
    JSONWriter.object { $0.array(verb, keys) }
  }
}
