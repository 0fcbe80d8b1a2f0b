import CampaignStore
import CommandSupport
import PushCore

/// The report of a job that is still in the queue.
struct QueuedReport: JSONReport {
  let job: QueuedJob
  /// The reason why no worker takes the job; `nil` if workers run.
  let waiting: CampaignWait?

  /// The name of the state.
  static let state = "queued"

  /// Returns a text for people about the place of a job in the queue.
  static func text(of place: QueuedJob.Place) -> String {
    switch place {
    case .queue(let position, let length): "in the queue, position \(position.grouped) of \(length.grouped)"
    case .intake(let worker): "being activated by worker \(worker)"
    }
  }

  /// Writes the same members as for a campaign, with all counts 0.
  func writeMembers(to json: inout JSONWriter) {
    json.member("id", job.outline.id)
    json.member("state", Self.state)
    json.member("reason", nil as String?)
    json.member("app", job.outline.app)
    json.member("lane", job.outline.lane?.rawValue)
    json.member("rate", nil as Int?)
    let none: Int? = 0
    json.member("targets", none)
    json.member("estimate", nil as Int?)
    json.object("outcomes") { json in
    }
    for name in ["pending", "inDoubt", "retrying", "pruned", "quarantined", "resent"] { json.member(name, none) }
    json.object("slices") { json in
      for name in ["done", "sealed", "total"] { json.member(name, none) }
    }
    json.name("queue")
    writePlace(to: &json)
    waiting?.write(to: &json)
    for name in ["createdAt", "sendAt", "startedAt", "finishedAt"] { json.member(name, nil as String?) }
  }

  private func writePlace(to json: inout JSONWriter) {
    json.beginObject()
    json.member("list", job.list)
    switch job.place {
    case .queue(let position, let length):
      json.member("position", position)
      json.member("length", length)
    case .intake(let worker): json.member("worker", worker)
    }
    json.endObject()
  }

  /// The complete report as text for people.
  var text: String {
    var rows = [
      ["campaign", job.outline.id], ["state", "\(Self.state): \(Self.text(of: job.place))"], ["list", job.list],
      ["app", job.outline.app ?? "-"], ["lane", job.outline.lane?.rawValue ?? "-"],
    ]
    if let waiting { rows.append(["waiting", waiting.text]) }
    return TextTable(rows.map { $0.map(Excerpt.harmless) }).text
  }

  /// One line with the job's place and the reason for waiting.
  var line: String {
    "\(job.outline.id) \(Self.state)  \(Self.text(of: job.place))" + (waiting.map { "  waiting: \($0.text)" } ?? "")
  }

  /// The cells of the job's row in `campaign list`.
  var cells: [String] {
    let place =
      switch job.place {
      case .queue(let position, let length): "\(position.grouped) of \(length.grouped) in the queue"
      case .intake(let worker): "worker \(worker)"
      }
    return [
      job.outline.id, Self.state, Excerpt.harmless(job.outline.app ?? "-"), job.outline.lane?.rawValue ?? "-", place,
      "-", "-",
    ]
  }
}

extension CampaignWait {
  /// The reason for waiting and the time at which it began, for people.
  var text: String { reason + (since.map { ", since \(Timestamp.format(milliseconds: $0))" } ?? "") }

  /// Writes the member `waiting` of the API.
  func write(to json: inout JSONWriter) {
    json.object("waiting") { json in
      json.member("reason", reason)
      json.member("since", since.map(Timestamp.format(milliseconds:)))
    }
  }
}
