import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension QuarantineCommand {
  /// The command `carillon quarantine list`.
  struct List: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the devices in quarantine, in any order. Campaigns skip these devices.",
      discussion: """
        The push service rejected the tokens of these devices. BadDeviceToken usually means a token of the other \
        environment. DeviceTokenNotForTopic means a token of another app. A device that registers again leaves \
        quarantine.

        Examples:
          carillon quarantine list --campaign spring-sale
          carillon quarantine list --json | jq -r '.[].reason' | sort | uniq -c
        """)

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Option(help: "Only devices that got a push of this app.") var app: String?
    @Option(help: "Only devices that this campaign quarantined.") var campaign: String?

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let store = try await StoreConnection(configuration.redis).open(creating: false)
      var output = StandardOutput()
      // Write the array page by page: there may be millions of devices.
      var separator = "["
      try await QuarantineCommand.forEachPage(of: app, campaign, store, configuration) { page in
        for device in page {
          guard global.json else {
            try output.writeLine(QuarantineReport(device).line)
            continue
          }
          try output.write(separator.utf8)
          try output.write(QuarantineReport(device).json.utf8)
          separator = ","
        }
        return true
      }
      if global.json { try output.writeLine(separator == "[" ? "[]" : "]") }
      try output.flush()
    }
  }
}
