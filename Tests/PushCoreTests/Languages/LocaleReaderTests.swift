import APNs
@testable import PushCore
import TestKit
import TestSupport
import Testing

/// All readers of locales and time zones, which must accept the same values: CSV, NDJSON, registration events, the
/// API's device and `devices register`, conditions of an audience, and the languages and zones of a job.
struct LocaleReaderTests {
  private static let vocabulary = DeviceVocabulary(
    services: PushServices(standard: APNsService()), apps: ["news"], now: 1_800_000_000_000)

  /// A reader returns the stored value, or `nil` for a device without one, or throws.
  private typealias Reader = (name: String, read: @Sendable (DeviceColumn, String) throws -> String?)

  private struct Refused: Error {}

  private static func value(_ row: DeviceRow, _ column: DeviceColumn) -> String? {
    column == .locale ? row.locale : row.timezone
  }

  private static func file(_ format: DeviceRowReader.Format, _ text: String, _ column: DeviceColumn) throws -> String? {
    var reader = DeviceRowReader(format: format, vocabulary)
    let rows = try reader.read(text.utf8) + reader.finish()
    let row = try rows[0].get()
    // A device that is stored without its zone is reported by a second result.
    expect(rows.count, is: row.refusal == nil ? 1 : 2)
    return value(row, column)
  }

  private static let readers: [Reader] = [
    ("CSV", { try file(.csv, "user,token,\($0.rawValue)\nada,00,\"\($1)\"\n", $0) }),
    ("NDJSON and API", { try file(.ndjson, #"{"user":"ada","token":"00","\#($0.rawValue)":"\#($1)"}"#, $0) }),
    (
      "event",
      { column, text in
        let event = try RegistrationEvent(
          parsing: Array(
            #"{"op":"login","user":"ada","token":"00","app":"news","\#(column.rawValue)":"\#(text)"}"#.utf8),
          vocabulary)
        guard case .login(let row) = event.change else { throw Refused() }
        expect(event.refusal == nil, is: value(row, column) != nil)
        return value(row, column)
      }
    ),
    (
      "devices register",
      { column, text in
        var draft = DeviceRowDraft(vocabulary)
        for (name, value) in [(DeviceColumn.user, "ada"), (.token, "00")] { try draft.set(name, to: value) }
        try draft.accept(column, text)
        return value(try draft.row(), column)
      }
    ),
  ]

  @Test(
    arguments: [
      ("zh_TW", "zh-TW"), ("en_US@calendar=japanese", "en-US"), ("iw", "he"), ("in", "id"), ("no", "nb"),
      ("es-419", "es-419"),
      ("deutsch", nil), ("xx", nil),
    ] as [(String, String?)])
  func everyReaderAcceptsTheSameLocales(text: String, stored: String?) throws {
    for reader in Self.readers {
      let value = try? reader.read(.locale, text)
      expect(value == .some(stored) || value == nil && stored == nil, "\(reader.name)")
    }
    let condition = try? DevicePredicate(parsing: "locale = '\(text)'")
    expect(condition != nil, is: stored != nil)
    for content in [
      #""apns":{"payload":{"aps":{"alert":"a"}}},"localized":{"\#(text)":{"apns":{"payload":{"aps":{"alert":"b"}}}}}"#,
      #""apns":{"payload":{"aps":{"alert":"a"}}},"variants":[{"name":"x","localized":{"\#(text)":{"apns":{"payload":{"a":1}}}}},{"name":"y"}]"#,
    ] {
      let error = Self.jobError(content)
      expect(error == nil, is: stored != nil, "\(content)")
      if stored == nil { expect(error?.field.hasSuffix("localized.\(text)"), is: true) }
    }
    let template =
      #"{"apns":{"payload":{"aps":{"alert":"a"}}},"localized":{"\#(text)":{"apns":{"payload":{"aps":{"alert":"b"}}}}}}"#
    expect((try? JobTemplate.content(Array(template.utf8), for: [APNsService()])) != nil, is: stored != nil)
  }

  @Test(
    arguments: [
      ("Europe/Berlin", "Europe/Berlin"), ("GMT+0530", "+05:30"), ("UTC-3", "-03:00"), ("+02:00", "+02:00"),
      ("GMT", "UTC"),
      ("PST", nil), ("IST", nil), ("EST", nil), ("Europe/Berln", nil),
    ] as [(String, String?)])
  func everyReaderAcceptsTheSameZones(text: String, stored: String?) throws {
    // If the zone is rejected, the device is stored without one.
    for reader in Self.readers { expect(try reader.read(.timezone, text), is: stored, "\(reader.name)") }
    expect((try? DevicePredicate(parsing: "timezone = '\(text)'")) != nil, is: stored != nil)
    let payload = #""apns":{"payload":{"aps":{"alert":"a"}}}"#
    let quiet = Self.jobError(
      payload + #","quietHours":{"from":"22:00","to":"08:00"},"defaultTimezone":"\#(text)""#)
    expect(quiet == nil, is: stored != nil)
    let repeated = Self.jobError(payload + #","repeat":{"cron":"0 9 * * *","zone":"\#(text)"}"#)
    expect(repeated == nil, is: stored != nil)
  }

  private static func jobError(_ content: String) -> JobError? {
    let text = #"{"id":"c","app":"news","audience":{"segment":"*"},"# + content + "}"
    do throws(JobError) {
      _ = try CampaignJob.parse(Array(text.utf8), .any([APNsService()]))
      return nil
    } catch {
      return error
    }
  }
}
