import Foundation
import PushCore
import TestKit
import TestSupport
import Testing

/// Local times in every zone of the system's database, compared with Python, which reads the same files.
struct ZoneRulesTests {
  static let folder = "/usr/share/zoneinfo"

  static func rules(_ zone: String) -> ZoneRules? {
    FileManager.default.contents(atPath: folder + "/" + zone).flatMap { ZoneRules(tzif: Array($0)) }
  }

  /// Runs Python; returns `nil` if it is not installed.
  private static func python(_ arguments: [String]) -> [Substring]? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3"] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return process.terminationStatus == 0 ? String(decoding: output, as: UTF8.self).split(separator: "\n") : nil
  }

  static let hasWitness = python(["-c", "import zoneinfo"]) != nil && rules("Europe/Berlin") != nil

  @Test(.enabled(if: hasWitness, "there is no Python 3.9 with zoneinfo, or no tzdata in /usr/share/zoneinfo"))
  func everyZoneEqualsTheReference() throws {
    let seed = Seed("everyZoneEqualsTheReference")
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("zone_witness.py")
    let lines = try #require(Self.python([script.path, Self.folder, "\(seed.value % 1_000_000)"]))
    var zones: [Substring: ZoneRules] = [:]
    var (walls, instants) = (0, 0)
    for line in lines {
      let words = line.split(separator: " ")
      let (zone, given, expected) = (words[1], try #require(Int(words[2])), try #require(Int(words[3])))
      if zones[zone] == nil { zones[zone] = Self.rules(String(zone)) }
      let rules = try #require(zones[zone], "\(zone) is not read")
      if words[0] == "w" {
        walls += 1
        let found = rules.instant(ofWall: given)
        if found != expected { Issue.record("\(line): clocks reach it at \(found)") }
      } else {
        instants += 1
        let found = rules.offset(at: given)
        if found != expected { Issue.record("\(line): the offset is \(found)") }
      }
    }
    expect(zones.count > 400 && walls > 8000 && instants > 8000)
  }

  @Test(.enabled(if: rules("Europe/Berlin") != nil, "there is no tzdata in /usr/share/zoneinfo"))
  func skippedAndRepeatedTimesAreResolved() throws {
    let berlin = try #require(Self.rules("Europe/Berlin"))
    func instant(_ wall: String) throws -> String {
      let seconds = try #require(WallTime.seconds(wall))
      return Timestamp.format(milliseconds: berlin.instant(ofWall: seconds) * 1000)
    }
    expect(try instant("2027-03-28T01:59:59"), is: "2027-03-28T00:59:59.000Z")
    expect(try instant("2027-03-28T02:30:00"), is: "2027-03-28T01:00:00.000Z")
    expect(try instant("2027-03-28T03:00:00"), is: "2027-03-28T01:00:00.000Z")
    expect(try instant("2027-10-31T02:30:00"), is: "2027-10-31T00:30:00.000Z")
    expect(try instant("2027-10-31T03:00:00"), is: "2027-10-31T02:00:00.000Z")
    // This time follows from the rule at the end of the file, long after its last change.
    expect(try instant("2150-07-01T12:00:00"), is: "2150-07-01T10:00:00.000Z")
  }

  @Test func everyChangeOfAZoneIsListedOnceAndInOrder() throws {
    for zone in ["Europe/Berlin", "Africa/Casablanca", "America/New_York", "Australia/Lord_Howe"] {
      guard let rules = Self.rules(zone) else { continue }
      let range = 1_600_000_000..<4_000_000_000
      let changes = rules.changes(in: range)
      expect(changes.count > 100)
      var offset = rules.offset(at: range.lowerBound)
      for change in changes {
        expect(rules.offset(at: change.at - 1) == offset && rules.offset(at: change.at) == change.offset)
        offset = change.offset
      }
    }
  }

  @Test func invalidZoneFileIsRejected() throws {
    expect(ZoneRules(tzif: []), is: nil)
    expect(ZoneRules(tzif: Array("TZif2".utf8)), is: nil)
    guard let whole = FileManager.default.contents(atPath: Self.folder + "/Europe/Berlin").map(Array.init) else {
      return
    }
    for count in 0..<whole.count where ZoneRules(tzif: Array(whole[..<count])) != nil {
      Issue.record("the first \(count) of \(whole.count) bytes are read as a zone")
    }
    // A file with any content is read or rejected.
    var seed = Seed("invalidZoneFileIsRejected")
    for _ in 0..<2000 {
      var bytes = whole
      for _ in 0...Int.random(in: 0..<8, using: &seed) {
        bytes[Int.random(in: 0..<bytes.count, using: &seed)] = .random(in: 0...255, using: &seed)
      }
      guard let rules = ZoneRules(tzif: bytes) else { continue }
      _ = rules.instant(ofWall: 1_796_115_600)
    }
  }
}

struct WallTimeTests {
  @Test func readsWhatClocksShowAndNoInstant() {
    expect(WallTime.seconds("2026-12-01T09:00:00"), is: 1_796_115_600)
    expect(WallTime.format(1_796_115_600), is: "2026-12-01T09:00:00")
    for text in ["2026-12-01T09:00:00Z", "2026-12-01T09:00:00+01:00", "2026-12-01", "2026-12-01T24:00:00", "", "09:00"]
    {
      expect(WallTime.seconds(text), is: nil)
    }
  }

  @Test func readsTimesOfDay() {
    expect(WallTime.timeOfDay("08:30"), is: 30600)
    expect(WallTime.timeOfDay("8:30"), is: 30600)
    expect(WallTime.timeOfDay("00:00"), is: 0)
    for text in ["24:00", "8", "08:60", "08:3", "008:30", "-1:30", "+1:30", "٠8:30", ":30", "08:30:00"] {
      expect(WallTime.timeOfDay(text), is: nil)
    }
  }
}
