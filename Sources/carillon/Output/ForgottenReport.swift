import CampaignStore
import CommandSupport
import PushCore

/// The report of an erased user.
struct ForgottenReport: JSONReport {
  let user: String
  let forgotten: Forgotten

  func writeMembers(to json: inout JSONWriter) {
    json.member("user", user)
    json.member("devices", forgotten.devices)
    json.array("segments", forgotten.segments)
    json.member("suppression", forgotten.suppression.count)
    json.member("campaigns", forgotten.campaigns)
    json.member("feedback", forgotten.feedback)
    json.member("completeBy", forgotten.completeBy.map { Timestamp.format(milliseconds: $0) })
  }

  /// The report for people.
  var text: String {
    "erased \(Excerpt.harmless(user)): \(forgotten.devices.grouped) devices, \(forgotten.segments.count.grouped) segments, "
      + "\(forgotten.suppression.count.grouped) suppression lists, data of \(forgotten.campaigns.grouped) campaigns, "
      + "\(forgotten.feedback.grouped) feedback entries"
      + (forgotten.completeBy.map {
        "; a queued job or a running expansion may still contain the user: a housekeeping task completes the erasure by "
          + Timestamp.format(milliseconds: $0)
      } ?? "")
  }
}
