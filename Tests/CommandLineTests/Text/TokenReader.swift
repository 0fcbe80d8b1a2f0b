import APNs
import CommandSupport
import PushCore
import Testing

/// Readers of device tokens: the columns of the table in `PastedTextTests`.
enum TokenReader {
  typealias Read = @Sendable (_ text: String, _ service: any PushService) throws -> DeviceToken

  static let all: [(name: String, read: Read)] = [
    ("CSV", { try row("user,token\na,\"\($0.replacing("\"", with: "\"\""))\"\n", .csv, $1) }),
    ("NDJSON", { try row(#"{"user":"a","token":\#(json($0))}"#, .ndjson, $1) }),
    (
      "register event",
      {
        guard case .register(let row) = try event(#"{"op":"register","user":"a","token":\#(json($0))}"#, $1).change
        else { throw CancellationError() }
        return row.token
      }
    ),
    (
      "unregister event",
      {
        guard case .unregister(let token, _) = try event(#"{"op":"unregister","token":\#(json($0))}"#, $1).change
        else { throw CancellationError() }
        return token
      }
    ),
    (
      "tokens of a job",
      {
        guard case .tokens(let tokens) = try job(#"{"tokens":[\#(json($0))]}"#, $1).recipients.audience else {
          throw CancellationError()
        }
        return try #require(tokens.first)
      }
    ),
    (
      "token of a recipient",
      { try #require(try job(#"{"users":[{"user":"a","token":\#(json($0))}]}"#, $1).recipients.token) }
    ),
    ("argument or API path", { try $1.token(argument: $0) }),
  ]

  private static func json(_ text: String) -> String {
    var json = JSONWriter()
    json.value(text)
    return json.text
  }

  private static func vocabulary(_ service: any PushService) -> DeviceVocabulary {
    DeviceVocabulary(services: PushServices(standard: service), apps: ["news"], now: TextReader.now)
  }

  private static func row(
    _ text: String, _ format: DeviceRowReader.Format, _ service: any PushService
  ) throws -> DeviceToken {
    var reader = DeviceRowReader(format: format, vocabulary(service))
    let rows = try reader.read(text.utf8) + reader.finish()
    return try #require(rows.first).get().token
  }

  private static func event(_ text: String, _ service: any PushService) throws -> RegistrationEvent {
    try RegistrationEvent(parsing: Array(text.utf8), vocabulary(service))
  }

  private static func job(_ audience: String, _ service: any PushService) throws -> Campaign {
    let text = #"{"id":"c","app":"news","audience":\#(audience),"message":{"body":"hi"}}"#
    return try CampaignJob.parse(Array(text.utf8), .any([service]))
  }
}
