import APNs
import PushCore
import Testing

@testable import carillon

/// Readers of text that people paste and export: the columns of the tables in `PastedTextTests`.
enum TextReader: String, CaseIterable, CustomTestStringConvertible {
  case csv = "CSV", ndjson = "NDJSON", event, receipt, foreign = "another system's NDJSON"
  case jobUsers = "users of a job", jobRecipient = "recipient of a job", jobStage = "stage of a job"
  case vars = "line of values", segmentFile = "segment file", requestBody = "API body", argument =
    "argument or API path"

  /// ms since 1970.
  static let now = 1_800_000_000_000
  /// Readers of JSON, which has numbers.
  static let ofJSON: [TextReader] = [
    .ndjson, .event, .receipt, .foreign, .jobUsers, .jobRecipient, .jobStage, .vars, .requestBody,
  ]

  var testDescription: String { rawValue }

  static let services = PushServices(standard: APNsService())
  static let vocabulary = DeviceVocabulary(services: services, apps: ["news"], now: now)

  /// Reads the id of a user.
  ///
  /// - Parameter json: a string or a number, in JSON syntax.
  func user(json: String) throws -> String {
    switch self {
    case .csv, .segmentFile, .argument: throw CancellationError()
    case .ndjson: return try Self.row(#"{"user":\#(json),"token":"00"}"#, .ndjson).user
    case .event:
      let event = try Self.event(#"{"op":"preference","user":\#(json),"app":"news","allowed":false}"#)
      guard case .preference(let user, _, _) = event.change else { throw CancellationError() }
      return user
    case .receipt:
      let text = #"{"event":"opened","campaign":"c","user":\#(json)}"#
      return try ReceiptEvent(parsing: Array(text.utf8), now: Self.now).user
    case .foreign:
      let token = String(repeating: "0", count: 64)
      return try Self.row(#"{"external_user_id":\#(json),"identifier":"\#(token)"}"#, .ndjson, .onesignal).user
    case .jobUsers: return try Self.users(of: Self.job(#"{"users":[\#(json)]}"#))
    case .jobRecipient: return try Self.users(of: Self.job(#"{"users":[{"user":\#(json),"vars":{"n":1}}]}"#))
    case .jobStage:
      let campaign = try Self.job(#"{"segment":"*"}"#, #","stages":[{"users":[\#(json)]}]"#)
      guard case .users(let users) = campaign.delivery.stages?.all.first?.members else { throw CancellationError() }
      return try #require(users.first)
    case .vars: return try JobRecipient.line(#"{"user":\#(json),"vars":{"n":1}}"#).user
    case .requestBody:
      let fields = try RequestFields(Array(#"{"users":[\#(json)]}"#.utf8), known: ["users"])
      return try #require(fields.users("users", limit: 9).first)
    }
  }

  /// Reads the id of a user from plain text.
  func user(text: String) throws -> String {
    let quoted = "\"" + text.replacing("\"", with: "\"\"") + "\""
    switch self {
    case .csv: return try Self.row("user,token\n\(quoted),00\n", .csv).user
    case .segmentFile:
      guard case .user(let user) = SegmentLine(quoted, number: 2) else { throw CancellationError() }
      return user
    case .argument: return try UserArgument.read(text)
    default:
      var json = JSONWriter()
      json.value(text)
      return try user(json: json.text)
    }
  }

  static func row(
    _ text: String, _ format: DeviceRowReader.Format, _ system: ForeignSystem? = nil
  ) throws -> DeviceRow {
    var reader = DeviceRowReader(format: format, vocabulary, from: system)
    let rows = try reader.read(text.utf8) + reader.finish()
    return try #require(rows.first).get()
  }

  static func event(_ text: String) throws -> RegistrationEvent {
    try RegistrationEvent(parsing: Array(text.utf8), vocabulary)
  }

  static func job(_ audience: String, _ more: String = "") throws -> Campaign {
    let text = #"{"id":"c","app":"news","audience":\#(audience),"apns":{"payload":{"aps":{"alert":"hi"}}}\#(more)}"#
    return try CampaignJob.parse(Array(text.utf8), .any([APNsService()]))
  }

  private static func users(of campaign: Campaign) throws -> String {
    guard case .users(let users) = campaign.recipients.audience else { throw CancellationError() }
    return try #require(users.first)
  }
}
