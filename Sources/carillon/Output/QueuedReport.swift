import CampaignStore
import CommandSupport
import PushCore

/// A job that is no campaign yet, as commands show it.
struct QueuedReport: JSONReport {
  let job: QueuedJob
  /// Why nobody takes it in; `nil` when there are workers.
  let waiting: CampaignWait?

  /// The word for its state.
  static let state = "queued"

  /// Where a job is, for people.
  static func text(of place: QueuedJob.Place) -> String {
    switch place {
    case .queue(let position, let length): "in the queue, \(position.grouped) of \(length.grouped) to be taken in"
    case .intake(let worker): "being taken in by worker \(worker)"
    }
  }

  /// The object of the contract, with nothing counted.
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

  /// Everything, for people.
  var text: String {
    var rows = [
      ["campaign", job.outline.id], ["state", "\(Self.state): \(Self.text(of: job.place))"], ["list", job.list],
      ["app", job.outline.app ?? "-"], ["lane", job.outline.lane?.rawValue ?? "-"],
    ]
    if let waiting { rows.append(["waiting", waiting.text]) }
    return TextTable(rows.map { $0.map(Excerpt.harmless) }).text
  }

  /// Where it waits, and why nobody takes it in.
  var line: String {
    "\(job.outline.id) \(Self.state)  \(Self.text(of: job.place))" + (waiting.map { "  waiting: \($0.text)" } ?? "")
  }

  /// The cells of `campaign list`.
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
  /// For people.
  var text: String { reason + (since.map { ", since \(Timestamp.format(milliseconds: $0))" } ?? "") }

  /// The member of the contract.
  func write(to json: inout JSONWriter) {
    json.object("waiting") { json in
      json.member("reason", reason)
      json.member("since", since.map(Timestamp.format(milliseconds:)))
    }
  }
}
