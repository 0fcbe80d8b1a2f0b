import Foundation
import TestSupport

/// Campaigns in which everything is counted and each push is unique: frequency caps, badge counts, a stored template in
/// two languages with values of the user and of the recipient, and the push's own id.
struct CountedScene {
  static let window = 50
  private static let caps = ["    caps: [{ most: 2, per: 1d }, { category: offers, most: 1, per: 7d }]"]
  private static let template = #"""
    {"apns":{"payload":{"aps":{"alert":{"title":"Hi {{first|you}}","body":"{{price:number.2|free}}"},"badge":"+1"}}},
     "localized":{"de":{"apns":{"payload":{"aps":{"alert":{"title":"Hallo {{first|du}}"}}}}}},"uniqueKey":"push"}
    """#

  let world: FaultWorld
  let counted = CountedUsers(
    caps: [.init(category: nil, most: 2), .init(category: "offers", most: 1)],
    campaigns: [
      .init(id: "a"), .init(id: "b"), .init(id: "offer-a", category: "offers"),
      .init(id: "offer-b", category: "offers"), .init(id: "news", isCapped: false),
    ])
  let campaigns: [FaultCampaign]

  /// - Parameter change: changes the options of the world.
  init(_ stage: Stage, _ change: (inout FaultWorld.Options) -> Void = { _ in }) async throws {
    let devices = stage.times(short: 400, full: 2000)
    world = try await stage.world {
      $0.partitions = 8
      $0.window = Self.window
      $0.devices = devices
      $0.simulator = ["--latency", "150ms", "--log-bodies"]
      $0.settings = Self.caps
      $0.columns = ["locale", "first"]
      // Two devices for each user, in two languages.
      $0.row = { ("u\($0 / 2)", [$0 % 2 == 0 ? "de-AT" : "en-GB", "Ada \($0 / 2)"]) }
      change(&$0)
    }
    let folder = try ScratchFolder("counted")
    try await world.succeed("template", "put", "counted", folder.write("template.json", Self.template))
    let values = (0..<(devices / 2)).map { #"{"user":"u\#($0)","vars":{"price":\#(Double($0 % 900) + 0.5)}}"# }
    let file = try folder.write("values.ndjson", values.joined(separator: "\n"))
    campaigns = counted.campaigns.map { one in
      FaultCampaign(one.id) {
        $0.content = #""template":"counted@1""#
        $0.more["vars"] = "true"
        if let category = one.category { $0.more["category"] = "\"\(category)\"" }
        if !one.isCapped { $0.more["lane"] = "\"urgent\"" }
      }
    }
    for campaign in campaigns { try await world.succeed("campaign", "vars", campaign.id, file) }
  }

  /// Submits all campaigns and waits until some pushes are sent.
  func begin() async throws {
    for campaign in campaigns { try await world.submit(campaign) }
    try await world.reached(20, of: campaigns[0])
  }

  /// Returns whether all campaigns have ended.
  func haveEnded() async throws -> Bool {
    for campaign in campaigns where try await !world.hasEnded(campaign) { return false }
    return true
  }

  /// Waits for the end and compares all counts and all sent bytes with the expected ones.
  func finish(_ stage: Stage) async throws {
    for campaign in campaigns { try await world.ended(campaign) }
    try await stage.check(world)
    for line in try await counted.check(world) { stage.require(false, line) }
    var findings = Findings(campaign: "all")
    let numbers = Dictionary(uniqueKeysWithValues: world.tokens.enumerated().map { ($1, $0) })
    for request in try world.simulatorLog().requests {
      guard let device = numbers[request.token] else { continue }
      if !Self.says(request.body, id: request.id, to: device) { findings.add("has unexpected content", request.body) }
    }
    for line in findings.lines { stage.require(false, line) }
  }

  /// Returns whether a push has the expected content for a device. The badge may have any value.
  private static func says(_ body: String, id: String, to device: Int) -> Bool {
    guard let push = try? JSONObject(body), let aps = push.object("aps"), let alert = aps.object("alert") else {
      return false
    }
    let (user, isGerman) = (device / 2, device % 2 == 0)
    return push.names == ["aps", "push"] && aps.names == ["alert", "badge"] && alert.names == ["title", "body"]
      && push.text("push") == id && alert.text("title") == "\(isGerman ? "Hallo" : "Hi") Ada \(user)"
      && alert.text("body") == "\(user % 900)\(isGerman ? "," : ".")50"
  }
}
