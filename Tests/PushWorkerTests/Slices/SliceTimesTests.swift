@testable import CampaignStore
@testable import PushWorker
import APNs
import Foundation
import PushCore
import TestKit
import TestSupport
import Testing

struct SliceTimesTests {
  private static let start = 1_796_115_600_000

  private func times(_ more: String, expiration: Int? = nil) throws -> (times: SliceTimes, folder: ScratchFolder) {
    let folder = try ScratchFolder()
    // At the start the time is 09:00 in UTC, and 21:59:30 in E.
    try ZoneFile.write(["E": 13 * 3600 - 30], to: folder.url)
    let job = #"{"id":"a","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"hi"}}}\#(more)}"#
    let campaign = try CampaignJob.parse(Array(job.utf8), .any([APNsService()]))
    let sent = SendTimes(
      steps: [
        .init(first: 0, due: 0, isDropped: true), .init(first: 10, due: 0, zone: 0),
        .init(first: 20, due: Self.start + 3_600_000, zone: 1),
      ], zones: ["E", "UTC"])
    let times = SliceTimes(
      sent, of: campaign, start: Self.start, expiration: expiration,
      zones: ZoneDatabase(folder: folder.url.path))
    return (times, folder)
  }

  @Test func targetWithoutATimeExpiresAndOthersAvoidQuietHours() throws {
    var (times, folder) = try times(#","quietHours":{"from":"22:00","to":"08:00"}"#)
    defer { withExtendedLifetime(folder) {} }
    expect(times.decision(of: 0, now: Self.start) == .expire && times.decision(of: 9, now: Self.start) == .expire)
    expect(times.decision(of: 10, now: Self.start), is: .send)
    expect(times.decision(of: 10, now: Self.start + 29_999), is: .send)
    expect(times.decision(of: 10, now: Self.start + 30_000), is: .hold(milliseconds: 10 * 3_600_000))
    expect(times.decision(of: 19, now: Self.start + 31_500), is: .hold(milliseconds: 10 * 3_600_000 - 1500))
    expect(times.decision(of: 20, now: Self.start + 31_500), is: .send)
    expect(times.blocked(from: 0, before: 30, now: Self.start) == 10 && times.blocked(from: 3, before: 8, now: 0) == 5)
    expect(times.blocked(from: 10, before: 30, now: Self.start), is: 0)
    expect(times.blocked(from: 12, before: 30, now: Self.start + 30_000), is: 8)
    expect(times.later(of: 30, now: Self.start) == 10 && times.later(of: 30, now: Self.start + 3_600_000) == 0)
    var (dropping, other) = try self.times(#","quietHours":{"from":"22:00","to":"08:00","then":"drop"}"#)
    defer { withExtendedLifetime(other) {} }
    expect(dropping.decision(of: 10, now: Self.start + 30_000), is: .expire)
  }

  @Test func durationsCountFromEachDevicesOwnTime() throws {
    let local = #","sendAt":"2026-12-01T09:00:00","localTime":true"#
    var (times, folder) = try times(local + #","expiration":"30m","maxDuration":"1h""#)
    defer { withExtendedLifetime(folder) {} }
    expect(times.expiration(of: 25), is: Self.start / 1000 + 5400)
    expect(times.deadline(of: 25), is: Self.start / 1000 + 5400)
    expect(times.decision(of: 25, now: Self.start + 5_399_999), is: .send)
    expect(times.decision(of: 25, now: Self.start + 5_400_000), is: .expire)
    let (longer, other) = try self.times(local + #","expiration":"2h","maxDuration":"1h""#)
    defer { withExtendedLifetime(other) {} }
    expect(longer.expiration(of: 25), is: Self.start / 1000 + 10800)
    expect(longer.deadline(of: 25), is: Self.start / 1000 + 7200)
  }

  @Test func fixedTimeIsTheSameForAllZones() throws {
    let end = Self.start / 1000 + 600
    let (times, folder) = try times(
      #","expiration":"2026-12-01T09:10:00Z","quietHours":{"from":"22:00","to":"08:00"}"#, expiration: end)
    defer { withExtendedLifetime(folder) {} }
    expect(times.expiration(of: 10) == end && times.expiration(of: 20) == end && times.deadline(of: 20) == end)
    let (once, other) = try self.times(
      #","expiration":"0","quietHours":{"from":"22:00","to":"08:00"}"#, expiration: 0)
    defer { withExtendedLifetime(other) {} }
    expect(once.expiration(of: 10) == 0 && once.deadline(of: 10) == nil)
  }

  @Test func targetThatWouldWaitTooLongExpires() throws {
    var (times, folder) = try times(#","expiration":"4h","quietHours":{"from":"22:00","to":"08:00"}"#)
    defer { withExtendedLifetime(folder) {} }
    expect(times.decision(of: 10, now: Self.start + 30_000), is: .expire)
  }
}
