import CampaignStore
import PushCore

/// The report of a run that has not ended. A run is a campaign that a recurring campaign has started.
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
