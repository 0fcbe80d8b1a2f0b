import CampaignStore
import PushCore

/// A run of a recurring campaign that has not ended, for output.
struct OpenRun {
  let id: String
  /// The campaign of the run; `nil` if the run has begun and no worker has taken it in.
  let record: CampaignRecord?

  func write(to json: inout JSONWriter) {
    json.member("id", id)
    if let record {
      CampaignReport(record).writeProgress(to: &json)
    } else {
      json.member("state", Self.queued)
    }
  }

  /// The id, the state and the progress.
  var text: String { record.map { CampaignReport($0).partText } ?? "\(id) \(Self.queued)" }

  /// The state of a run that no worker has taken in.
  private static let queued = "queued"
}
