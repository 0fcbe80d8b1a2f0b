import PushCore
import TestKit
import TestSupport
import Testing

struct TargetTimingTests {
  private static let start = 1_796_115_600_000

  private func timing(_ change: (inout CampaignTiming) -> Void) -> TargetTiming {
    var timing = CampaignTiming()
    change(&timing)
    return TargetTiming(timing, start: Self.start)
  }

  private func zone(_ offset: Int) throws -> ZoneRules { try #require(ZoneRules(tzif: ZoneFile.fixed(offset))) }

  @Test func eachDeviceGetsThePushAtItsLocalTime() throws {
    let local = timing { $0.localTime = LocalTime(wall: 1_796_122_800) }
    expect(local.slot(in: .utc, timeOfDay: nil, now: 0), is: .init(due: 1_796_122_800_000))
    expect(local.slot(in: try zone(3600), timeOfDay: nil, now: 0), is: .init(due: 1_796_119_200_000))
    expect(local.slot(in: try zone(-5400), timeOfDay: nil, now: 0), is: .init(due: 1_796_128_200_000))
  }

  @Test func passedTimeIsSentSlightlyLateOrDropped() throws {
    // The local time is 11:00. The zones are 1, 2 and 3 hours, and 3 hours and a second, ahead of the beginning at
    // 09:00 UTC.
    let local = timing { $0.localTime = LocalTime(wall: 1_796_122_800) }
    expect(local.slot(in: try zone(3 * 3600), timeOfDay: nil, now: 0), is: .init(due: Self.start - 3_600_000))
    expect(local.slot(in: try zone(3 * 3600 + 1), timeOfDay: nil, now: 0), is: .dropped)
    let strict = timing {
      $0.localTime = LocalTime(wall: 1_796_122_800)
      $0.late = 0
    }
    expect(strict.slot(in: try zone(2 * 3600), timeOfDay: nil, now: 0), is: .init(due: Self.start))
    expect(strict.slot(in: try zone(2 * 3600 + 1), timeOfDay: nil, now: 0), is: .dropped)
  }

  @Test(arguments: [
    (#"{"hour":8}"#, 28800), (#"{"hour":"08:30"}"#, 30600), (#"{"hour":"8"}"#, 28800), (#"{"hour":0}"#, 0),
    (#"{"hour":["17:05","x"]}"#, 61500),
  ])
  func hoursOfUsersAreRead(attributes: String, seconds: Int) {
    let local = LocalTime(wall: 0, attribute: "hour")
    expect(local.timeOfDay(of: Array(attributes.utf8)), is: seconds)
  }

  @Test(arguments: [
    "", "{}", #"{"hour":24}"#, #"{"hour":-1}"#, #"{"hour":8.5}"#, #"{"hour":"morning"}"#, #"{"hour":true}"#,
    #"{"hour":null}"#, #"{"other":8}"#, "not json",
  ])
  func userWithoutAnHourGetsTheTimeOfTheJob(attributes: String) {
    let local = LocalTime(wall: 86400 + 32400, attribute: "hour")
    expect(local.timeOfDay(of: Array(attributes.utf8)), is: nil)
    expect(local.wall(timeOfDay: nil), is: 86400 + 32400)
    expect(local.wall(timeOfDay: 7200), is: 86400 + 7200)
    // The campaign begins before the first midnight of the world, because the hour may be any.
    expect(local.beginning, is: 86400 - 14 * 3600)
    expect(LocalTime(wall: 86400 + 32400).beginning, is: 86400 + 32400 - 14 * 3600)
  }

  @Test func quietHoursAreWaitedOutOrDropped() throws {
    let night = QuietHours(from: 22 * 3600, to: 8 * 3600, handling: .hold)
    let held = timing { $0.quietHours = night }
    // 09:00 UTC is 22:00 at +13, and 08:00 at -1.
    expect(held.slot(in: .utc, timeOfDay: nil, now: 0), is: .init(due: 0))
    expect(held.slot(in: try zone(13 * 3600), timeOfDay: nil, now: 0), is: .init(due: Self.start + 10 * 3_600_000))
    expect(held.slot(in: try zone(13 * 3600 - 1), timeOfDay: nil, now: 0), is: .init(due: 0))
    expect(held.slot(in: try zone(-3600), timeOfDay: nil, now: 0), is: .init(due: 0))
    expect(held.slot(in: try zone(-3601), timeOfDay: nil, now: 0), is: .init(due: Self.start + 1000))
    // The time of the expansion counts if it is later.
    expect(
      held.slot(in: .utc, timeOfDay: nil, now: Self.start + 13 * 3_600_000), is: .init(due: Self.start + 23 * 3_600_000)
    )
    let dropped = timing { $0.quietHours = QuietHours(from: night.from, to: night.to, handling: .drop) }
    expect(dropped.slot(in: try zone(13 * 3600), timeOfDay: nil, now: 0), is: .dropped)
    // A local time in the night is moved too.
    let both = timing {
      $0.localTime = LocalTime(wall: 1_796_115_600 + 14 * 3600)
      $0.quietHours = night
    }
    expect(both.slot(in: .utc, timeOfDay: nil, now: 0), is: .init(due: Self.start + 23 * 3_600_000))
  }

  @Test func targetHeldForTooLongIsDropped() throws {
    let held = timing {
      $0.quietHours = QuietHours(from: 22 * 3600, to: 8 * 3600, handling: .hold)
      $0.maxDuration = 10 * 3600
    }
    expect(held.slot(in: try zone(13 * 3600), timeOfDay: nil, now: 0), is: .dropped)
    expect(held.slot(in: try zone(13 * 3600 + 1), timeOfDay: nil, now: 0), is: .init(due: Self.start + 35_999_000))
    expect(held.timing.deadline(start: 100, due: 500), is: 36100)
    let local = timing {
      $0.localTime = LocalTime(wall: 0)
      $0.maxDuration = 60
    }
    expect(local.timing.deadline(start: 100, due: 500), is: 560)
    expect(CampaignTiming().deadline(start: 100, due: 500), is: nil)
  }
}

struct RepetitionTests {
  private func seconds(_ text: String) throws -> Int { try #require(Timestamp.milliseconds(text + ":00Z")) / 1000 }

  private func repetition(_ cron: String, _ change: (inout Repetition) -> Void = { _ in }) throws -> Repetition {
    var repetition = Repetition(schedule: try CronSchedule(parsing: cron), text: cron)
    change(&repetition)
    return repetition
  }

  @Test func runsFollowEachOtherUpToTheEnd() throws {
    let daily = try repetition("0 9 * * *") { $0.end = 1_796_288_400 }
    var run = try #require(daily.next(after: seconds("2026-12-01T08:59"), nil, in: .utc))
    expect(run, is: .init(begins: try seconds("2026-12-01T09:00"), wall: try seconds("2026-12-01T09:00")))
    expect(Repetition.id(of: run, parent: "digest"), is: "digest~20261201T0900")
    expect(Repetition.run("digest~20261201T0900")?.parent, is: "digest")
    expect(Repetition.run("digest~20261201T0900")?.wall == run.wall && Repetition.run("digest") == nil)
    for day in ["2026-12-02", "2026-12-03"] {
      run = try #require(daily.next(after: run.begins, nil, in: .utc))
      expect(run.begins, is: try seconds(day + "T09:00"))
    }
    expect(daily.next(after: run.begins, nil, in: .utc), is: nil)
    let later = try repetition("0 9 * * *") { $0.start = 1_796_288_400 }
    expect(later.next(after: 0, nil, in: .utc)?.begins, is: 1_796_288_400)
  }

  @Test func lastMissedRunReplacesTheOthers() throws {
    let hourly = try repetition("0 * * * *")
    let missed = try seconds("2026-12-01T09:00")
    expect(
      hourly.last(until: try seconds("2026-12-03T11:30"), from: missed, nil, in: .utc)?.begins,
      is: try seconds("2026-12-03T11:00"))
    expect(hourly.last(until: missed, from: missed, nil, in: .utc)?.begins, is: missed)
    let ended = try repetition("0 * * * *") { $0.end = missed + 3600 }
    expect(ended.last(until: missed + 86400, from: missed, nil, in: .utc)?.begins, is: missed + 3600)
  }

  @Test func runWithLocalTimesBeginsBeforeTheFirstClock() throws {
    let daily = try repetition("30 8 * * *")
    let local = LocalTime(wall: 0)
    let run = try #require(daily.next(after: try seconds("2026-12-01T00:00"), local, in: .utc))
    expect(run.wall, is: try seconds("2026-12-02T08:30"))
    expect(run.begins, is: run.wall - 14 * 3600)
    let next = try #require(daily.next(after: run.begins, local, in: .utc))
    expect(next.wall, is: run.wall + 86400)
    expect(daily.last(until: next.begins + 7, from: run.begins, local, in: .utc), is: next)
    // Each user has an hour of their own, so the whole day is still to come.
    let own = try #require(
      daily.next(after: try seconds("2026-12-01T00:00"), LocalTime(wall: 0, attribute: "h"), in: .utc))
    expect(own.begins, is: try seconds("2026-12-01T10:00"))
  }
}
