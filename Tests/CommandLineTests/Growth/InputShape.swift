import Testing

/// A family of inputs of one format and of any size.
struct InputShape: Sendable, CustomTestStringConvertible {
  var format: InputFormat
  var name: String
  /// Returns an input of about the given number of bytes.
  var make: @Sendable (Int) -> [UInt8]

  var testDescription: String { "\(format.rawValue): \(name)" }

  /// The repeated element of an input at a place where the sender can choose the size.
  enum Hole { case text, elements, members, raw, lines }

  private static func filled(_ size: Int, _ separator: String = "", _ item: (Int) -> String) -> String {
    var text = ""
    var number = 0
    while text.utf8.count < size {
      if number > 0 { text += separator }
      text += item(number)
      number += 1
    }
    return text
  }

  private typealias Filler = (name: String, text: @Sendable (Int) -> String)

  private static let texts: [Filler] = [
    ("letters", { String(repeating: "a", count: $0) }),
    ("escapes", { filled($0) { _ in #"\u00e4\n"# } }),
    ("quotes", { filled($0) { _ in #"\""# } }),
    ("combining", { "e" + filled($0) { _ in "\u{301}" } }),
    ("joined", { filled($0) { _ in "\u{1F468}\u{200D}" } }),
    ("blanks", { filled($0) { _ in " " } }),
    ("placeholders", { filled($0) { "{{name\($0)}}" } }),
    ("open placeholders", { filled($0) { _ in "{{" } }),
    ("half placeholders", { filled($0) { _ in "{{a:number|b " } }),
    ("digits", { filled($0) { _ in "7" } }),
  ]

  private static let elements: [Filler] = [
    ("users", { filled($0, ",") { "\"u\($0)\"" } }),
    ("one user", { filled($0, ",") { _ in "\"u\"" } }),
    ("numbers", { filled($0, ",") { "\($0)" } }),
    ("recipients", { filled($0, ",") { #"{"user":"u\#($0)","vars":{"a":"b","n\#($0)":1}}"# } }),
    ("nested arrays", { filled($0) { _ in "[" } }),
    ("nested objects", { filled($0) { _ in #"{"a":"# } }),
    ("empty objects", { filled($0, ",") { _ in "{}" } }),
  ]

  private static let members: [Filler] = [
    ("unknown names", { filled($0, ",") { #""alrt\#($0)":null"# } }),
    ("one name", { filled($0, ",") { _ in #""alert":"a""# } }),
    ("languages", { filled($0, ",\n") { #""q\#($0)":{"aps":{"alrt":"a","badge":"b"}}"# } }),
    ("objects", { filled($0, ",") { #""k\#($0)":{"a":[1,{}]}"# } }),
    ("a long name", { "\"" + String(repeating: "n", count: $0) + "\":1" }),
    ("a long number", { "\"n\":1" + String(repeating: "0", count: $0) }),
    ("line breaks", { filled($0) { _ in "\n" } + "\"a\":1" }),
  ]

  private static let raw: [Filler] = [
    ("names", { filled($0, " & ") { "s\($0)" } }),
    ("choices", { filled($0, " | ") { "s\($0)" } }),
    ("without", { filled($0, " & ") { "!(s\($0) | t)" } }),
    ("opened", { filled($0) { _ in "(" } }),
    ("negated", { filled($0) { _ in "!" } + "a" }),
    ("tests", { filled($0, " and ") { "attributes.a\($0) = \"b\"" } }),
    ("versions", { filled($0, " or ") { "appVersion >= \($0).2.3" } }),
    ("members", { "locale in (" + filled($0, ", ") { "\"l\($0)\"" } + ")" }),
    ("one name", { String(repeating: "s", count: $0) }),
    ("one text", { "locale = \"" + String(repeating: "s", count: $0) + "\"" }),
    ("minutes", { filled($0, ",") { "\($0 % 60)" } + " * * * *" }),
    ("ranges", { filled($0, ",") { _ in "0-59/7" } + " * * * *" }),
    ("fields", { filled($0, " ") { _ in "*" } }),
    ("durations", { filled($0) { "\($0)h" } }),
    ("a time", { "2026-12-01T09:00:00." + String(repeating: "0", count: $0) + "Z" }),
  ]

  private static let lines: [Filler] = [
    ("users", { filled($0, "\n") { "u\($0),\(String(repeating: "0f", count: 32))" } }),
    ("a quote that stays open", { "\"" + filled($0, "\n") { "u\($0)" } }),
    ("quotes", { filled($0) { _ in "\"\"" } }),
    ("commas", { filled($0) { _ in "," } }),
    ("empty lines", { filled($0) { _ in "\n" } }),
    ("returns", { filled($0) { _ in "\r" } }),
    ("one line", { String(repeating: "u", count: $0) }),
    ("objects", { filled($0, "\n") { #"{"user":"u\#($0)","token":"0f","attributes":{"a\#($0)":"b"}}"# } }),
    ("events", { filled($0, "\n") { #"{"op":"tag","user":"u\#($0)","tags":["a"]}"# } }),
    ("open objects", { filled($0, "\n") { _ in #"{"user":"u","# } }),
    ("nested", { filled($0) { _ in "[" } }),
  ]

  private static let yaml: [Filler] = [
    (
      "apps",
      { "apps:\n" + filled($0) { "  a\($0):\n    apns:\n      topic: org.example.a\n      environment: production\n" } }
    ),
    ("unknown keys", { filled($0) { "key\($0): 1\n" } }),
    ("one key", { filled($0) { _ in "log: 1\n" } }),
    ("a list", { "apps: [" + filled($0, ",") { "\($0)" } + "]" }),
    ("nested lists", { "apps: " + filled($0) { _ in "[" } }),
    ("nested keys", { "apps: " + filled($0) { _ in "{a: " } }),
    ("indented", { size in filled(size) { String(repeating: " ", count: min($0, 60)) + "a\($0):\n" } }),
    ("aliases", { "a0: &a0 [x]\n" + filled($0) { "a\($0 + 1): &a\($0 + 1) [*a\($0),*a\($0),*a\($0)]\n" } }),
    ("comments", { filled($0) { _ in "# a\n" } }),
    ("a long text", { "log: \"" + String(repeating: "a", count: $0) + "\"" }),
  ]

  private static func shapes(
    _ format: InputFormat, _ fillers: [Filler], in place: String, _ front: String, _ back: String
  ) -> [InputShape] {
    fillers.map { filler in
      InputShape(format: format, name: "\(place), \(filler.name)") { Array((front + filler.text($0) + back).utf8) }
    }
  }

  /// Every shape of every format.
  static let all: [InputShape] = InputFormat.allCases.flatMap { shapes(of: $0) }

  private static func shapes(of format: InputFormat) -> [InputShape] {
    let job = #"{"id":"a","app":"news","#
    let audience = #""audience":{"segment":"*"}"#
    let payload = #""apns":{"payload":{"aps":{"alert":"hi"}}}"#
    switch format {
    case .job:
      return shapes(format, elements, in: "users", job + payload + #","audience":{"users":["#, "]}}")
        + shapes(format, elements, in: "tokens", job + payload + #","audience":{"tokens":["#, "]}}")
        + shapes(format, elements, in: "variants", job + audience + #","variants":["#, "]}")
        + shapes(format, elements, in: "stages", job + audience + "," + payload + #","stages":["#, "]}")
        + shapes(format, members, in: "job", job + audience + "," + payload + ",", "}")
        + shapes(format, members, in: "payload", job + audience + #","apns":{"payload":{"aps":{"alert":"a"},"#, "}}}")
        + shapes(format, members, in: "aps", job + audience + #","apns":{"payload":{"aps":{"#, "}}}}")
        + shapes(format, members, in: "localized", job + audience + "," + payload + #","localized":{"#, "}}")
        + shapes(format, texts, in: "alert", job + audience + #","apns":{"payload":{"aps":{"alert":""#, "\"}}}}")
        + shapes(format, texts, in: "id", #"{"id":""#, "\"}")
        + shapes(format, texts, in: "segment", job + payload + #","audience":{"segment":""#, "\"}}")
        + shapes(format, texts, in: "sendAt", job + audience + "," + payload + #","sendAt":""#, "\"}")
    case .payload:
      return shapes(format, members, in: "payload", #"{"aps":{"alert":"a"},"#, "}")
        + shapes(format, members, in: "aps", #"{"aps":{"#, "}}")
        + shapes(format, texts, in: "alert", #"{"aps":{"alert":""#, "\"}}")
        + shapes(format, elements, in: "custom", #"{"aps":{"alert":"a"},"a":["#, "]}")
        + shapes(format, lines, in: "file", "", "")
    case .fcmJob: return fcmJob(format)
    case .fcmMessage:
      return shapes(format, members, in: "message", #"{"message":{"notification":{"body":"a"},"#, "}}")
        + shapes(format, members, in: "data", #"{"message":{"data":{"#, "}}}")
        + shapes(format, members, in: "android", #"{"message":{"android":{"notification":{"#, "}}}}")
        + shapes(format, texts, in: "body", #"{"message":{"notification":{"body":""#, "\"}}}")
        + shapes(format, lines, in: "file", "", "")
    case .twoServiceJob:
      let both = job + audience + #","message":{"body":"a"},"#
      return shapes(format, members, in: "data", job + audience + #","message":{"body":"a","data":{"#, "}}}")
        + shapes(format, members, in: "localized", both + #""localized":{"#, "}}")
        + shapes(format, elements, in: "variants", both + #""variants":["#, "]}")
        + shapes(format, texts, in: "body", job + audience + #","message":{"body":""#, "\"}}")
    case .fcmAnswer:
      let details = #"{"error":{"code":400,"status":"INVALID_ARGUMENT","details":["#
      return shapes(format, elements, in: "details", details, "]}}")
        + shapes(format, members, in: "error", #"{"error":{"#, "}}")
        + shapes(format, texts, in: "message", #"{"error":{"message":""#, "\"}}")
        + shapes(
          format, elements, in: "violations",
          details + #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":["#, "]}]}}")
    case .serviceAccount:
      return shapes(format, members, in: "account", #"{"type":"service_account","project_id":"a","#, "}")
        + shapes(
          format, texts, in: "private_key",
          #"{"type":"service_account","project_id":"a","client_email":"b","private_key_id":"c","private_key":""#, "\"}")
        + shapes(format, texts, in: "file", "", "") + shapes(format, lines, in: "file", "", "")
    case .event:
      return shapes(format, members, in: "event", #"{"op":"attribute","user":"u","#, "}")
        + shapes(format, members, in: "attributes", #"{"op":"attribute","user":"u","attributes":{"#, "}}")
        + shapes(format, elements, in: "tags", #"{"op":"tag","user":"u","tags":["#, "]}")
        + shapes(format, texts, in: "user", #"{"op":"login","user":""#, "\"}")
        + shapes(format, texts, in: "at", #"{"op":"login","user":"u","at":""#, "\"}")
    case .receipt:
      return shapes(format, members, in: "receipt", #"{"kind":"opened","campaign":"a","#, "}")
        + shapes(format, texts, in: "campaign", #"{"kind":"opened","user":"u","campaign":""#, "\"}")
    case .expression, .predicate, .cron, .times:
      return shapes(format, raw, in: "text", "", "") + shapes(format, texts, in: "text", "", "")
    case .definition: return shapes(format, raw, in: "expression", #"{"expression":""#, "\"}")
    case .csv: return csv(format, header: "user,token\n")
    case .foreignCSV: return csv(format, header: "external_user_id,identifier,tags\n")
    case .ndjson, .segmentLines, .eventLines: return shapes(format, lines, in: "file", "", "")
    case .requestBody:
      return shapes(format, members, in: "body", "{", "}") + shapes(format, elements, in: "users", #"{"users":["#, "]}")
        + shapes(format, texts, in: "reason", #"{"reason":""#, "\"}")
    case .configuration: return shapes(format, yaml, in: "file", "", "")
    }
  }

  private static func fcmJob(_ format: InputFormat) -> [InputShape] {
    let job = #"{"id":"a","app":"news","audience":{"segment":"*"},"#
    return shapes(format, members, in: "fcm.message", job + #""fcm":{"message":{"data":{"a":"b"},"#, "}}}")
      + shapes(format, members, in: "fcm.message.data", job + #""fcm":{"message":{"data":{"#, "}}}}")
      + shapes(
        format, members, in: "fcm.message.android", job + #""fcm":{"message":{"android":{"notification":{"#, "}}}}}")
      + shapes(
        format, members, in: "localized", job + #""fcm":{"message":{"notification":{"body":"a"}}},"localized":{"#, "}}")
      + shapes(format, texts, in: "body", job + #""fcm":{"message":{"notification":{"body":""#, "\"}}}}")
      + shapes(
        format, elements, in: "tokens",
        #"{"id":"a","app":"news","fcm":{"message":{"data":{"a":"b"}}},"audience":{"tokens":["#, "]}}")
  }

  private static func csv(_ format: InputFormat, header: String) -> [InputShape] {
    shapes(format, lines, in: "rows", header, "") + shapes(format, lines, in: "file", "", "")
      + shapes(format, texts, in: "field", header + "u,", "\n")
      + [
        InputShape(format: format, name: "columns") {
          Array(("user," + filled($0, ",") { "attributes.a\($0)" } + "\nu,0f\n").utf8)
        }
      ]
  }
}
