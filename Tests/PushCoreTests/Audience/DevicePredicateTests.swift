@testable import PushCore
import TestKit
import Testing

struct DevicePredicateTests {
  /// A device with a value in every field.
  private struct Device: PredicateSubject {
    var locale = "en-GB"
    var timezone = "Europe/Paris"
    var appVersion = "5.10.1"
    var osVersion = "18.0"
    var lastSeen: UInt64 = 1_000_000_000_000

    func bytes(of field: DevicePredicate.TextField) -> UnsafeRawBufferPointer {
      switch field {
      case .locale: Self.bytes(locale)
      case .timezone: Self.bytes(timezone)
      case .environment: Self.bytes("")
      }
    }

    func bytes(of field: DevicePredicate.VersionField) -> UnsafeRawBufferPointer {
      Self.bytes(field == .appVersion ? appVersion : osVersion)
    }

    func time(of field: DevicePredicate.TimeField) -> UInt64 { field == .lastSeen ? lastSeen : 0 }

    /// Returns bytes that live until the process ends. A test needs only a few.
    private static func bytes(_ text: String) -> UnsafeRawBufferPointer {
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
      bytes.copyBytes(from: text.utf8)
      return UnsafeRawBufferPointer(bytes)
    }
  }

  private static let attributes =
    #"{"plan":"gold","age":42,"visits":"17","premium":true,"subscribed":"false","born":"1984-02-29","#
    + #""joined":"2026-01-01T12:00:00Z","tags":["news","sport"],"odd name":"x","nothing":null,"nested":{"a":1}}"#

  private func holds(_ text: String, _ device: Device = Device(), now: Int = 1_000_086_400_000) throws -> Bool {
    let predicate = try DevicePredicate(parsing: text)
    return predicate.matches(
      device, user: PredicateAttributes(Array(Self.attributes.utf8), of: predicate.attributes), now: now)
  }

  @Test(arguments: [
    // Language ranges.
    "locale = 'en-GB'", "locale = 'en'", "locale = 'EN'", "locale = 'en_gb'", "locale != 'fr'", "!(locale = 'eo')",
    "locale in ('fr', 'en')", "!(locale in ('fr','de'))", "locale prefix 'en-'", "locale exists",
    "timezone = 'Europe/Paris'", "timezone prefix 'Europe/'", "!(timezone = 'Europe/Berlin')",
    // Versions, compared by their numbers.
    "appVersion >= '5.2'", "appVersion > '5.10'", "appVersion < '5.11'", "appVersion = '5.10.1.0'",
    "appVersion != '5.10'", "osVersion = '18'", "osVersion in ('17', '18')", "appVersion prefix '5.'",
    // Times, and ages; now is a day later.
    "lastSeen < 25h", "lastSeen <= 1d", "lastSeen > 23h", "!(lastSeen < 1d)", "lastSeen >= '2001-09-09T01:46:40Z'",
    "lastSeen > '2001-09-09'", "lastSeen < '2001-09-10'", "lastSeen exists", "!(registeredAt exists)",
    // Attributes.
    "plan = 'gold'", "plan in ('silver', 'gold')", "plan prefix 'go'", "plan exists", "plan != 'silver'",
    "age = 42", "age >= 42", "age < 42.5", "age in (1, 42)", "age = '42'", "visits > 9", "visits != 18",
    "premium = true", "premium != false", "subscribed = false", "born < '1990-01-01'", "joined > '2026-01-01'",
    "joined = '2026-01-01T12:00:00Z'", "tags = 'sport'", "tags prefix 'ne'", "\"odd name\" = 'x'",
    // A test on an unknown value is false.
    "!(city = 'Paris')", "!(city != 'Paris')", "!(city exists)", "!(nothing exists)", "!(nested exists)",
    "!(environment != 'sandbox')", "!(plan > 3)", "!(registeredAt < 30d)",
    // Operator precedence.
    "city exists | plan exists & age exists", "!city exists & plan exists", "!(city exists | age < 3)",
    "plan = 'it''s' | plan='gold'&age=42",
  ])
  func isTrue(text: String) throws { expect(try holds(text)) }

  @Test(arguments: [
    ("5.2", "5.10", -1), ("5.10", "5.10.0", 0), ("5", "4.99", 1), ("5.10-beta", "5.10", 0), ("10", "9.9.9.9", 1),
    ("99999999999999999999", "9999", 1),
  ])
  func versionsAreOrderedByNumbers(left: String, right: String, order: Int) throws {
    let versions = try [left, right].map { try #require(DevicePredicate.Version($0.utf8)) }
    expect(versions[0].order(against: versions[1]), is: order)
    expect(versions[1].order(against: versions[0]), is: -order)
  }

  @Test func unknownDeviceMeetsNoTest() throws {
    let device = Device(locale: "", timezone: "", appVersion: "", osVersion: "unknown", lastSeen: 0)
    for text in ["locale != 'fr'", "timezone exists", "appVersion < '9'", "osVersion != '9'", "lastSeen > 1d"] {
      expect(try !holds(text, device), "\(text)")
    }
  }

  @Test func namesEveryAttributeOnce() throws {
    let predicate = try DevicePredicate(parsing: "plan exists & (age > 3 | plan = 'gold') & locale = 'en'")
    expect(predicate.attributes, is: ["plan", "age"])
  }

  @Test(arguments: [
    ("", 1, "expected a field, '!' or '(', found the end"),
    ("locale", 7, "expected '=', '!=', '<', '<=', '>', '>=', 'in', 'prefix' or 'exists', found the end"),
    ("locale ~ 'en'", 8, "found '~'"),
    ("locale = en", 10, "expected a text in single quotes, found 'en'"),
    ("locale = 'en", 10, "a text is not closed"),
    ("locale < 'en'", 10, "no order"),
    ("appVersion > 5", 14, "expected a version in single quotes"),
    ("appVersion > 'five'", 14, "expected a version in single quotes"),
    ("lastSeen = 30d", 12, "compared with '<' or '>'"),
    ("lastSeen < 30", 12, "expected a duration, such as 30d"),
    ("lastSeen < 'soon'", 12, "expected a duration, such as 30d"),
    ("lastSeen in ('2026-01-01')", 10, "not with a list"),
    ("token = 'ab'", 1, "'token' can't be tested"),
    ("appVersoin > '5'", 1, "did you mean 'appVersion'?"),
    ("plan > 'gold'", 8, "a text has no order"),
    ("plan = gold", 8, "expected a text in single quotes"),
    ("plan in ('gold' 'silver')", 17, "expected ',' or ')', found '''"),
    ("plan = 'a' plan = 'b'", 12, "expected '&', '|' or the end"),
    ("(plan exists", 13, "expected '&', '|' or ')'"),
    ("\"\" exists", 1, "an attribute name must not be empty"),
    ("premium > true", 11, "no order"),
  ])
  func errorNamesTheColumn(text: String, column: Int, message: String) {
    let error = #expect(throws: AudienceExpressionError.self) { try DevicePredicate(parsing: text) }
    expect(error?.column, is: column, "\(error?.description ?? "")")
    expect(error?.message.contains(message), is: true, "\(error?.message ?? "")")
  }

  @Test func sizeIsBounded() throws {
    let many = { (count: Int) in (0..<count).map { "a\($0) exists" }.joined(separator: " | ") }
    _ = try DevicePredicate(parsing: many(64))
    #expect(throws: AudienceExpressionError.self) { try DevicePredicate(parsing: many(65)) }
    let list = { (count: Int) in "plan in (" + (0..<count).map { "'\($0)'" }.joined(separator: ",") + ")" }
    _ = try DevicePredicate(parsing: list(256))
    #expect(throws: AudienceExpressionError.self) { try DevicePredicate(parsing: list(257)) }
    let deep = { (count: Int) in String(repeating: "!", count: count) + "a exists" }
    _ = try DevicePredicate(parsing: deep(31))
    #expect(throws: AudienceExpressionError.self) { try DevicePredicate(parsing: deep(33)) }
  }

  /// The sample has the same users every time and the requested share. Another campaign has other users.
  @Test func sampleHasTheSameUsersEveryTime() {
    let users = (0..<20_000).map { "user-\($0)" }
    let sample = { (share: Double, salt: String) in
      Set(users.filter { user in Array(user.utf8).withUnsafeBytes(UserSample(share: share, salt: salt).has) })
    }
    let tenth = sample(0.1, "a")
    expect(tenth, is: sample(0.1, "a"))
    // The tolerance is four standard deviations.
    expect(abs(tenth.count - 2000) < 170, "\(tenth.count)")
    expect(tenth.isSubset(of: sample(0.3, "a")))
    let other = sample(0.1, "b")
    expect(abs(tenth.intersection(other).count - 200) < 60, "\(tenth.intersection(other).count)")
  }
}
