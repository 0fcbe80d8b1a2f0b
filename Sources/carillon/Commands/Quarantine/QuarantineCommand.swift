import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

/// The command `carillon quarantine`.
struct QuarantineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quarantine",
    abstract: "List, probe, release and remove devices whose tokens a push service rejected.",
    subcommands: [List.self, Probe.self, Release.self, Purge.self])

  /// The devices that a command acts on.
  struct Selection: ParsableArguments {
    @Argument(help: "Device tokens.") var tokens: [String] = []
    @Option(help: "The push service of the tokens (default: apns).") var service: String?
    @Option(help: "Only devices that got a push of this app.") var app: String?
    @Option(help: "Only devices that this campaign quarantined.") var campaign: String?
    @Flag(help: "Select all devices in quarantine.") var all = false

    func validate() throws {
      let isFiltered = app != nil || campaign != nil
      guard [!tokens.isEmpty, isFiltered, all].count(where: { $0 }) == 1 else {
        throw ValidationError("Give either tokens, or --app or --campaign or both, or --all.")
      }
    }

    /// Calls `body` with the selected devices, one page at a time.
    ///
    /// - Parameter body: returns false to stop.
    func forEachPage(
      _ store: CampaignStore, _ configuration: CarillonConfiguration,
      _ body: ([QuarantinedDevice]) async throws -> Bool
    ) async throws {
      guard !tokens.isEmpty else {
        return try await QuarantineCommand.forEachPage(of: app, campaign, store, configuration, body)
      }
      let service = try PushServices.known.named(service)
      let tokens = try tokens.map { try service.token(argument: $0) }
      let known = try await store.results.quarantined(tokens, of: service)
      if let missing = zip(tokens, known).first(where: { $1 == nil })?.0 {
        throw CommandError(
          .failed, "token \(service.shortText(of: missing)) is not in quarantine",
          hint: "nothing was changed; carillon quarantine list shows the tokens")
      }
      _ = try await body(known.compactMap { $0 })
    }

    /// Changes the selected devices, one page at a time, and records the change in the audit log.
    ///
    /// - Returns: the number of changed devices.
    func change(
      _ action: AuditAction, _ store: CampaignStore, _ configuration: CarillonConfiguration,
      _ body: ([QuarantinedDevice]) async throws -> [Bool]
    ) async throws -> Int {
      var count = 0
      try await forEachPage(store, configuration) { page in
        count += try await body(page).count { $0 }
        return true
      }
      await AuditTrail(store).record(
        action, app: app, campaign: campaign, isAll: all, count, by: .commandLine)
      return count
    }
  }

  /// Calls `body` with the devices in quarantine that got a push of an app, or that a campaign quarantined.
  ///
  /// - Parameters:
  ///   - app: the app; `nil` for any app.
  ///   - campaign: the campaign; `nil` for any campaign.
  ///   - body: returns false to stop.
  /// - Throws: `CommandError` if no device matches, and the app or campaign is unknown, because its name may be
  ///   mistyped.
  static func forEachPage(
    of app: String?, _ campaign: String?, _ store: CampaignStore, _ configuration: CarillonConfiguration,
    _ body: ([QuarantinedDevice]) async throws -> Bool
  ) async throws {
    var isAny = false
    try await store.results.forEachQuarantined { page in
      let matching = page.filter { (app ?? $0.app) == $0.app && (campaign ?? $0.campaign) == $0.campaign }
      guard !matching.isEmpty else { return true }
      isAny = true
      return try await body(matching)
    }
    guard !isAny else { return }
    if let app { try configuration.checkApp(app) }
    // The id of a queued or expired campaign is not an error, although no device matches.
    if let campaign, try await store.queue.memory(of: campaign) == nil,
      try await store.queue.waitingJob(campaign) == nil
    {
      throw try await CampaignLookup(store).absent(campaign)
    }
  }

  /// Prints the number of changed devices.
  static func printCount(_ count: Int, _ verb: String, json isJSON: Bool) throws {
    guard isJSON else { return try StandardOutput.printLine("\(count) \(count == 1 ? "device" : "devices") \(verb)") }
    var json = JSONWriter()
    json.beginObject()
    json.member(verb, count)
    json.endObject()
    try StandardOutput.printLine(json.text)
  }
}
