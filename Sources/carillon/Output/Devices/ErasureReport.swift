import CampaignStore
import CommandSupport
import PushCore

/// The report of an erased user.
struct ErasureReport: JSONReport {
  let user: String
  let erased: ErasureSummary

  func writeMembers(to json: inout JSONWriter) {
    json.member("user", user)
    json.member("devices", erased.devices)
    json.array("segments", erased.segments)
    json.member("suppression", erased.suppression.count)
    json.member("campaigns", erased.campaigns)
    json.member("feedback", erased.feedback)
    json.member("completeBy", erased.completeBy.map { Timestamp.format(milliseconds: $0) })
  }

  /// The report as text for people.
  var text: String {
    "erased \(Excerpt.harmless(user)): \(erased.devices.grouped) devices, \(erased.segments.count.grouped) segments, "
      + "\(erased.suppression.count.grouped) suppression lists, data of \(erased.campaigns.grouped) campaigns, "
      + "\(erased.feedback.grouped) feedback entries"
      + (erased.completeBy.map {
        "; a queued job or a running expansion may still contain the user: a housekeeping task completes the erasure by "
          + Timestamp.format(milliseconds: $0)
      } ?? "")
  }
}
