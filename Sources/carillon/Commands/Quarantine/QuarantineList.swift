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
