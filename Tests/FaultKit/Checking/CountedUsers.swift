import CampaignStore
import Foundation
import PushCore
import Redis
import TestSupport

/// An app's counts of its users (frequency caps and badges), compared with the simulator's log and the campaigns'
/// results. It shares no code with the store.
///
/// 1. All devices of a user have the same result in a campaign: either all of them get a push, or all are `capped`.
/// 2. Redis counts for a user exactly those campaigns that obey caps and that, according to the simulator's log and the
///    results, reached the user.
/// 3. The count never exceeds a cap, and a capped user has reached the cap.
/// 4. In one campaign all devices of a user get the same badge. The badges of a user's campaigns are the numbers from 1
///    without gaps, each in one campaign. Redis has the last of them.
struct CountedUsers {
  /// A campaign that is counted.
  struct Campaign {
    let id: String
    var category: String?
    /// Whether the campaign obeys caps.
    var isCapped = true
  }

  /// Limit of campaigns for a user: of one category, or of all categories (`nil`).
  struct Cap {
    var category: String?
    let most: Int
  }

  let caps: [Cap]
  let campaigns: [Campaign]

  /// Result of one campaign for one user.
  private struct Fate {
    var outcomes: Set<String> = []
    /// The badges that were sent to the devices.
    var badges: Set<Int> = []
    /// Devices that answered with 200.
    var reached: Set<String> = []
    var devices = 0
  }

  /// - Returns: a line for each kind of violation.
  func check(_ world: FaultWorld) async throws -> [String] {
    let log = try world.simulatorLog()
    let requests = Dictionary(grouping: log.requests, by: \.id)
    var fates: [String: [String: Fate]] = [:]
    for campaign in campaigns {
      let csv = try await world.succeed("results", "export", campaign.id, "--format", "csv")
      for result in try ExportedResult.all(in: csv) {
        var fate = fates[result.user, default: [:]][campaign.id] ?? Fate()
        fate.devices += 1
        fate.outcomes.insert(result.outcome)
        for request in requests[result.id, default: []] where request.token == result.token {
          if request.status == 200 { fate.reached.insert(request.token) }
          if let badge = try JSONObject(request.body).object("aps")?.number("badge") { fate.badges.insert(badge) }
        }
        fates[result.user, default: [:]][campaign.id] = fate
      }
    }
    var findings = Findings(campaign: "all")
    if fates.isEmpty { findings.add("has no results") }
    let records = try await records(world)
    for (user, byCampaign) in fates { hold(user, byCampaign, records[user] ?? Record(), &findings) }
    return findings.lines
  }

  private func hold(_ user: String, _ fates: [String: Fate], _ record: Record, _ findings: inout Findings) {
    for fate in fates.values where fate.outcomes.count != 1 {
      findings.add("treats devices of a user differently", user)
    }
    let came = campaigns.filter { fates[$0.id]?.outcomes == ["accepted"] }
    let delivered = campaigns.filter { fates[$0.id].map { $0.reached.count == $0.devices } ?? false }
    if came.map(\.id) != delivered.map(\.id) { findings.add("has results that differ from the simulator's log", user) }
    let counting = came.filter(\.isCapped)
    if record.times.sorted() != counting.map({ Self.digest($0.id) }).sorted() {
      findings.add(
        "counts campaigns that did not arrive, or misses some", "\(user): \(record.times.count), not \(counting.count)")
    }
    let had = { (cap: Cap) in counting.count { cap.category == nil || cap.category == $0.category } }
    for cap in caps where had(cap) > cap.most { findings.add("arrived more often than a cap allows", user) }
    for campaign in campaigns where fates[campaign.id]?.outcomes == ["capped"] {
      let concerned = caps.filter { $0.category == nil || $0.category == campaign.category }
      if !campaign.isCapped || !concerned.contains(where: { had($0) == $0.most }) {
        findings.add("was capped for a user below the cap", user)
      }
    }
    for fate in fates.values where fate.badges.count > 1 {
      findings.add("shows a user two badge numbers", "\(user): \(fate.badges.sorted())")
    }
    let numbers = came.flatMap { Array(fates[$0.id]?.badges ?? []) }.sorted()
    if numbers != Array(1..<(came.count + 1)) {
      findings.add("has gaps in the badge numbers", "\(user): \(numbers) for \(came.count)")
    }
    if record.badge != came.count {
      findings.add("stores another badge number than it sent", "\(user): \(record.badge)")
    }
  }

  // MARK: Redis

  /// Redis' record of a user for the only app. `pressure.lua` defines the layout.
  private struct Record {
    var badge = 0
    /// Digests of campaigns that count for caps.
    var times: [UInt64] = []

    init() {}

    init(_ bytes: [UInt8]) {
      var rest = bytes[...]
      func number(_ size: Int) -> UInt64 {
        defer { rest = rest.dropFirst(size) }
        return rest.prefix(size).reduce(0) { $0 << 8 | UInt64($1) }
      }
      let name = Int(number(1))
      rest = rest.dropFirst(name)
      badge = Int(number(4))
      // Skips the time and the value of the badge that the app reported last.
      _ = (number(6), number(4))
      for _ in 0..<number(1) {
        _ = number(4)
        let category = number(4)
        let campaign = number(8)
        // Skips the number of the user's targets that hold the entry (0 for a campaign without caps), and their badge.
        _ = (number(1), number(4))
        // An entry without caps exists only for its badge.
        if category != 0xFFFF_FFFF { times.append(campaign) }
      }
    }
  }

  private func records(_ world: FaultWorld) async throws -> [String: Record] {
    var records: [String: Record] = [:]
    for partition in 0..<world.options.partitions {
      let reply = try await world.redis.command("HGETALL", "{\(world.namespace):\(partition)}:pressure").get()
      let fields = reply.map { $0.bytes.map { Array($0) } ?? [] }
      for index in stride(from: 0, to: fields.count - 1, by: 2) {
        records[String(decoding: fields[index], as: UTF8.self)] = Record(fields[index + 1])
      }
    }
    return records
  }

  /// Returns the FNV-1a hash of a name.
  private static func digest(_ name: String) -> UInt64 {
    name.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
