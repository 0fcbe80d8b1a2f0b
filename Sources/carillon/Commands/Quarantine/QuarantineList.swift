import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension QuarantineCommand {
  /// `carillon quarantine list`.
  struct List: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the devices in quarantine, in no order: they are kept, and not sent to.",
      discussion: """
        Their push service called their tokens bad (BadDeviceToken: usually of the other environment) or of another \
        topic (DeviceTokenNotForTopic). A device that registers again is free by itself.

        Examples:
          carillon quarantine list --campaign spring-sale
          carillon quarantine list --json | jq -r '.[].reason' | sort | uniq -c
        """)

    @OptionGroup var global: GlobalOptions
    @Option(help: "Only those that were sent to for this app.") var app: String?
    @Option(help: "Only those that this campaign brought there.") var campaign: String?

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let store = try await StoreConnection(configuration.redis).open(creating: false)
      var output = StandardOutput()
      // A piece at a time: there may be millions.
      var separator = "["
      try await QuarantineCommand.forEachPage(of: app, campaign, store, configuration) { page in
        for device in page {
          guard global.json else {
            try output.writeLine(Self.line(device))
            continue
          }
          try output.write(separator.utf8)
          try output.write(Self.json(device))
          separator = ","
        }
        return true
      }
      if global.json { try output.writeLine(separator == "[" ? "[]" : "]") }
      try output.flush()
    }

    /// The token's text; empty when its service is none of this program's.
    private static func token(_ device: QuarantinedDevice) -> String {
      PushServices.known[device.service]?.text(of: device.token) ?? ""
    }

    private static func line(_ device: QuarantinedDevice) -> String {
      let fields = [
        Self.token(device), Excerpt.harmless(device.user), device.app, Excerpt.harmless(device.reason), device.campaign,
        Timestamp.format(milliseconds: device.at),
      ]
      return fields.joined(separator: "\t")
    }

    private static func json(_ device: QuarantinedDevice) -> [UInt8] {
      var json = JSONWriter()
      json.beginObject()
      json.member("token", token(device))
      json.member("user", device.user)
      json.member("app", device.app)
      json.member("reason", device.reason)
      json.member("campaign", device.campaign)
      json.member("at", Timestamp.format(milliseconds: device.at))
      json.endObject()
      return json.take()
    }
  }
}
