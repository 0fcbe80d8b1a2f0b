import CampaignStore
import CommandSupport
import PushCore

/// What was known of a user who was forgotten.
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

  /// For people.
  var text: String {
    "forgot \(Excerpt.harmless(user)): \(forgotten.devices.grouped) devices, \(forgotten.segments.count.grouped) segments, "
      + "\(forgotten.suppression.count.grouped) suppression lists, what \(forgotten.campaigns.grouped) campaigns kept, "
      + "\(forgotten.feedback.grouped) entries of the feedback list"
      + (forgotten.completeBy.map {
        "; a queued job or a running expansion may hold the user: housekeeping completes the erasure by "
          + Timestamp.format(milliseconds: $0)
      } ?? "")
  }
}
