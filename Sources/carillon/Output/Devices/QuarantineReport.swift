import CampaignStore
import CommandSupport
import PushCore

/// The report of a device in quarantine.
struct QuarantineReport: JSONReport {
  let device: QuarantinedDevice

  init(_ device: QuarantinedDevice) {
    self.device = device
  }

  /// The token's text; empty if this program does not know its push service.
  private var token: String { PushServices.known[device.service]?.text(of: device.token) ?? "" }

  /// The fields, separated by tabs.
  var line: String {
    let fields = [
      token, Excerpt.harmless(device.user), device.app, Excerpt.harmless(device.reason), device.campaign,
      Timestamp.format(milliseconds: device.at),
    ]
    return fields.joined(separator: "\t")
  }

  func writeMembers(to json: inout JSONWriter) {
    json.member("token", token)
    json.member("user", device.user)
    json.member("app", device.app)
    json.member("reason", device.reason)
    json.member("campaign", device.campaign)
    json.member("at", Timestamp.format(milliseconds: device.at))
  }
}
