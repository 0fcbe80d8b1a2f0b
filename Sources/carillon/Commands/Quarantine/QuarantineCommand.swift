import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

/// `carillon quarantine`.
struct QuarantineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quarantine",
    abstract: "Shows devices whose tokens APNs called bad or of another topic, and frees or removes them.",
    subcommands: [List.self, Probe.self, Release.self, Purge.self])

  /// The devices that a command is about.
  struct Selection: ParsableArguments {
    @Argument(help: "Device tokens.") var tokens: [String] = []
    @Option(help: "Those that were sent to for this app.") var app: String?
    @Option(help: "Those that this campaign brought there.") var campaign: String?
    @Flag(help: "All of them.") var all = false

    func validate() throws {
      let isFiltered = app != nil || campaign != nil
      guard [!tokens.isEmpty, isFiltered, all].count(where: { $0 }) == 1 else {
        throw ValidationError("Give either tokens, or --app or --campaign or both, or --all.")
      }
    }

    /// Walks over the selected devices, a page at a time.
    ///
    /// - Parameter body: returns false to stop.
    func forEachPage(
      _ store: CampaignStore, _ body: ([QuarantinedDevice]) async throws -> Bool
    ) async throws {
      guard !tokens.isEmpty else {
        return try await store.forEachQuarantined { page in
          try await body(
            page.filter { (app ?? $0.app) == $0.app && (campaign ?? $0.campaign) == $0.campaign })
        }
      }
      let tokens = try tokens.map { try DeviceToken(argument: $0) }
      let known = try await store.quarantined(tokens)
      if let missing = zip(tokens, known).first(where: { $1 == nil })?.0 {
        throw CommandError(
          .failed, "token \(missing.hex.prefix(8))… is not in quarantine",
          hint: "see what is: carillon quarantine list; nothing was changed")
      }
      _ = try await body(known.compactMap { $0 })
    }

    /// Does something to the selected devices, a page at a time.
    ///
    /// - Returns: how many were changed.
    func change(
      _ store: CampaignStore, _ body: ([QuarantinedDevice]) async throws -> [Bool]
    ) async throws -> Int {
      var count = 0
      try await forEachPage(store) { page in
        count += try await body(page).count { $0 }
        return true
      }
      return count
    }
  }

  /// Tells how many devices were changed.
  static func tell(_ count: Int, _ verb: String, json isJSON: Bool) throws {
    guard isJSON else { return try StandardOutput.printLine("\(count) \(count == 1 ? "device" : "devices") \(verb)") }
    var json = JSONWriter()
    json.beginObject()
    json.member(verb, count)
    json.endObject()
    try StandardOutput.printLine(json.text)
  }
}
