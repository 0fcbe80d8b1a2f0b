@testable import CampaignStore
import PushCore
import Redis

/// Frequency cap counters of a user, as `pressure.lua` writes them, read by independent code.
struct UserPressure: Equatable {
  struct Time: Hashable {
    /// Seconds since the epoch.
    var at: Int
    /// Digests of names.
    var category: [UInt8]
    var campaign: [UInt8]
    /// The number of targets that keep this entry; 0 if a cap excluded the user from the campaign.
    var holders = 1
    /// The badge that these targets show.
    var shown = 0
  }

  struct App: Equatable {
    var badge: Int
    /// The time at which the app last set the badge, in ms since the epoch.
    var reportedAt = 0
    /// The badge that the app set.
    var reportedBadge = 0
    /// Campaigns that reached the user.
    var times: [Time]
    /// Campaigns from which a cap excluded the user.
    var capped: [Time] = []
  }

  var apps: [String: App] = [:]

  init(_ bytes: [UInt8]) {
    var rest = bytes[...]
    func number(_ size: Int) -> Int {
      defer { rest = rest.dropFirst(size) }
      return rest.prefix(size).reduce(0) { $0 << 8 | Int($1) }
    }
    while !rest.isEmpty {
      let length = number(1)
      let app = String(decoding: rest.prefix(length), as: UTF8.self)
      rest = rest.dropFirst(length)
      let badge = number(4)
      let (reportedAt, reportedBadge) = (number(6), number(4))
      let times = (0..<number(1)).map { _ in
        let at = number(4)
        defer { rest = rest.dropFirst(17) }
        return Time(
          at: at, category: Array(rest.prefix(4)), campaign: Array(rest.dropFirst(4).prefix(8)),
          holders: Int(rest.dropFirst(12).first ?? 0),
          shown: rest.dropFirst(13).prefix(4).reduce(0) { $0 << 8 | Int($1) })
      }
      apps[app] = App(
        badge: badge, reportedAt: reportedAt, reportedBadge: reportedBadge, times: times.filter { $0.holders > 0 },
        capped: times.filter { $0.holders == 0 })
    }
  }

  /// Everything except the times, as text.
  var text: String {
    apps.sorted { $0.key < $1.key }.map { name, app in
      let times = (app.times + app.capped).map {
        String(decoding: Hex.encode($0.category + $0.campaign), as: UTF8.self) + " \($0.holders) \($0.shown)"
      }
      return ([name, "badge \(app.badge)"] + times).joined(separator: ", ")
    }.joined(separator: "; ")
  }

  /// Returns the record of one app with these times.
  static func record(app: String, badge: Int = 0, times: [Time]) -> [UInt8] {
    func bytes(_ number: Int, _ size: Int) -> [UInt8] {
      (0..<size).map { UInt8(truncatingIfNeeded: number >> (8 * (size - 1 - $0))) }
    }
    var record = bytes(app.utf8.count, 1)
    record += Array(app.utf8)
    record += bytes(badge, 4)
    record += bytes(0, 10)
    record += bytes(times.count, 1)
    for time in times {
      record += bytes(time.at, 4)
      record += time.category
      record += time.campaign
      record += bytes(time.holders, 1)
      record += bytes(time.shown, 4)
    }
    return record
  }
}

extension TestStore {
  /// Returns the counters of a user; `nil` if there are none.
  func pressure(of user: String) async throws -> UserPressure? {
    let key = keys.pressure(Partition.of(user: user, count: keys.partitions))
    return try await command("HGET", key, user).bytes.map { UserPressure(Array($0)) }
  }
}
