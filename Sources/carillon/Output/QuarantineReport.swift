import CampaignStore
import CommandSupport
import PushCore

/// A device in quarantine, as commands show it.
struct QuarantineReport: JSONReport {
  let device: QuarantinedDevice

  init(_ device: QuarantinedDevice) {
    self.device = device
  }

  /// The token's text; empty when its service is none of this program's.
  private var token: String { PushServices.known[device.service]?.text(of: device.token) ?? "" }

  /// Its fields with tabs between them.
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
