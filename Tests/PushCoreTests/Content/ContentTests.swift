import APNs
@testable import PushCore
import APNs
import TestKit
import TestSupport
import Testing

/// Personal content of a campaign's pushes.
struct ContentTests {
  /// Returns the content of a job with this payload and these other members.
  static func content(_ payload: String, _ members: String = "") throws -> PersonalContent? {
    let bytes = Array((#"{"apns":{"payload":\#(payload)}"# + members + "}").utf8)
    let root = try JSONValue(parsing: bytes, maximumDepth: 16)
    guard case .object(let fields) = root.kind else { return nil }
    return try JobPayload(JobFields(fields), in: bytes, to: .users(["ada"]), for: APNsService()).content
  }

  /// Returns the payload for one target; `nil` if it is too large.
  static func text(
    _ content: PersonalContent?, attributes: [UInt8] = [], values: [UInt8] = [], locale: String = "", most: Int = 4096
  ) throws -> String? {
    let content = try #require(content)
    var user = PersonalContent.User(content)
    var sealed: [UInt8] = []
    values.withUnsafeBytes { values in
      attributes.withUnsafeBytes { attributes in
        content.find(&user, values: values, attributes: attributes)
        Array(locale.utf8).withUnsafeBytes { content.writeValues(of: &user, locale: $0, to: &sealed) }
      }
    }
    var payload = Array("before".utf8)
    let fits = content.write(TargetValues(sealed[...]), id: (1, 2), most: most, to: &payload)
    expect(payload.starts(with: "before".utf8))
    if !fits { expect(payload.count, is: 6, "nothing is left of what does not fit") }
    return fits ? String(decoding: payload.dropFirst(6), as: UTF8.self) : nil
  }

  @Test func jobWithoutAnythingOfItsOwnHasNoContent() throws {
    expect(try Self.content(#"{"aps":{"alert":"Hi } { {name}"}}"#), is: nil)
    expect(try Self.content(#"{"aps":{"alert":""}}"#, #","localized":{}"#), is: nil)
  }

  @Test(arguments: [
    (#"{"name":"Ada"}"#, "Hi Ada!"), (#"{"x":1,"name":"A\"d\\a\n\u00e9\/"}"#, #"Hi A\"d\\a\n\u00e9\/!"#),
    (#"{}"#, "Hi there!"), ("", "Hi there!"), (#"{"name":null}"#, "Hi there!"), (#"{"name":[1,"]"]}"#, "Hi there!"),
    (#"{"name":12.50}"#, "Hi 12.50!"), (#"{"name":true}"#, "Hi true!"), (#"{"name":""}"#, "Hi !"),
    (#"{"name":"{{name}}"}"#, "Hi {{name}}!"), (#"{"na\u006de":"Ada"}"#, "Hi Ada!"),
    (#"{"name":"\ud83d\ude00"}"#, #"Hi \ud83d\ude00!"#),
    // Half of a surrogate pair, and invalid JSON. Such values are never sent.
    (#"{"name":"\ud83d"}"#, "Hi there!"), (#"{"name":"\ude00x"}"#, "Hi there!"), (#"{"name":"Ada""#, "Hi there!"),
    (#"{"name":"Ada"}}"#, "Hi there!"), (#"["name","Ada"]"#, "Hi there!"), (#"{"name":"\x"}"#, "Hi there!"),
  ])
  func placeholderTakesTheUsersValueOrItsFallback(attributes: String, says: String) throws {
    let content = try Self.content(#"{"aps":{"alert":"Hi {{name|there}}!"},"n":1}"#)
    let text = try Self.text(content, attributes: Array(attributes.utf8))
    expect(text, is: #"{"aps":{"alert":"\#(says)"},"n":1}"#)
  }

  @Test func invalidUTF8IsNotAValue() throws {
    let content = try Self.content(#"{"a":"{{name|x}}"}"#)
    for bytes: [UInt8] in [
      [0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82],
    ] {
      expect(
        try Self.text(content, attributes: Array(#"{"name":""#.utf8) + bytes + Array(#""}"#.utf8)), is: #"{"a":"x"}"#)
    }
    let good = Array(#"{"name":"é€😀"}"#.utf8)
    expect(try Self.text(content, attributes: good), is: #"{"a":"é€😀"}"#)
  }

  @Test func recipientsValuesComeBeforeAttributes() throws {
    let content = try Self.content(#"{"a":"{{x}} {{y}} {{z|none}}"}"#)
    let text = try Self.text(
      content, attributes: Array(#"{"x":"old","y":"Y"}"#.utf8), values: Array(#"{"x":"new","z":null,"y":null}"#.utf8))
    expect(text, is: #"{"a":"new Y none"}"#)
  }

  @Test(arguments: [
    ("", "payload"), ("en", "payload"), ("zh-Hans-CN", "zh-hans"), ("zh_hans_sg", "zh-hans"), ("ZH-Hans", "zh-hans"),
    ("zh-Hant-TW", "payload"), ("zh", "zh"), ("zh-CN", "zh"), ("zhx", "payload"), ("pt-BR", "pt-br"),
    ("pt-PT", "pt-br"),
    ("pt", "pt-br"), ("de-DE-x-a", "de"), ("de-u-co-phonebk", "de"), ("de-Latn-AT-1996", "de-latn-at"),
    ("-", "payload"),
  ])
  func languageFallsBackSubtagBySubtag(locale: String, form: String) throws {
    let content = try Self.content(
      #"{"a":"payload"}"#,
      #"""
      ,"localized":{"zh":{"apns":{"payload":{"a":"zh"}}},"zh-Hans":{"apns":{"payload":{"a":"zh-hans"}}},
      "pt_BR":{"apns":{"payload":{"a":"pt-br"}}},"de":{"apns":{"payload":{"a":"de"}}},
      "de-Latn-AT":{"apns":{"payload":{"a":"de-latn-at"}}}}
      """#)
    expect(try Self.text(content, locale: locale), is: #"{"a":"\#(form)"}"#)
  }

  /// RFC 7396, appendix A, for cases with two objects. A value that is not an object replaces.
  @Test(arguments: [
    (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
    (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
    (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
    (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
    (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
    (#"{}"#, #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    (#"{"aps":{"alert":{"title":"t","body":"b"}}}"#, #"{"aps":{"alert":"x"}}"#, #"{"aps":{"alert":"x"}}"#),
  ])
  func languageIsAMergePatch(payload: String, patch: String, result: String) throws {
    let content = try Self.content(payload, #","localized":{"de":{"apns":{"payload":\#(patch)}}}"#)
    expect(try Self.text(content, locale: "de"), is: result)
    expect(try Self.text(content, locale: "fr"), is: payload)
  }

  @Test func uniqueKeyIsThePushsOwnID() throws {
    let id = "00000000-0000-0001-0000-000000000002"
    expect(try Self.text(Self.content(#"{"a":1}"#, #","uniqueKey":"n""#)), is: #"{"a":1,"n":"\#(id)"}"#)
    expect(try Self.text(Self.content("{}", #","uniqueKey":"n""#)), is: #"{"n":"\#(id)"}"#)
  }

  @Test func valuesOfAnUnknownUserAreMissing() throws {
    let content = try #require(try Self.content(#"{"a":"{{x|1}}{{y|2}}"}"#))
    for bytes: [UInt8] in [[], [0], [9, 9], [0, 0, 0xFF], [0, 0, 0, 5, 65], [0, 0, 0xFF, 0xFF]] {
      var payload: [UInt8] = []
      expect(content.write(TargetValues(bytes[...]), id: (0, 0), most: 100, to: &payload))
      expect(payload, is: Array(#"{"a":"12"}"#.utf8), "\(bytes)")
    }
  }

  @Test(arguments: [
    (#"{"a":"{{}}"}"#, "", "apns.payload.a", "has no valid name"),
    (#"{"a":["{{ | | }}","{{x{y}}"]}"#, "", "apns.payload.a[1]", "has no valid name"),
    (#"{"a":1}"#, #","localized":[]"#, "localized", "must be an object"),
    (#"{"a":1}"#, #","localized":{"x":{}}"#, "localized.x", "is not a language tag"),
    (#"{"a":1}"#, #","localized":{"de":1}"#, "localized.de", "must be an object"),
    (#"{"a":1}"#, #","localized":{"de-AT":{},"de_at":{}}"#, "localized.de_at", "means the same language as 'de-AT'"),
    (
      #"{"a":1}"#, #","localized":{"de":{"apns":{"payload":{"a":"{{}}"}}}}"#, "localized.de.apns.payload.a",
      "has no valid name"
    ),
    (#"{"a":1}"#, #","uniqueKey":"a b""#, "uniqueKey", "is not a valid key"),
    (#"{"a":1}"#, #","uniqueKey":"a""#, "uniqueKey", "already has a member 'a'"),
    (
      #"{"a":1}"#, #","uniqueKey":"b","localized":{"de":{"apns":{"payload":{"b":1}}}}"#, "localized.de.apns.payload.b",
      "has the name that uniqueKey adds to the payload"
    ),
    (#"{"a":1}"#, #","trim":"apns.payload.a""#, "trim", "is not a string of the push"),
    (#"{"a":{"b":1}}"#, #","trim":"apns.payload.a.c""#, "trim", "is not a string of the push"),
  ])
  func errorNamesTheInvalidContent(payload: String, members: String, field: String, says: String) {
    let error = #expect(throws: JobError.self) { try Self.content(payload, members) }
    expect(error?.field, is: field)
    expect(error?.description.contains(says), is: true, "\(error?.description ?? "")")
  }

  // MARK: Trimming

  @Test func namedTextIsTrimmedBetweenGraphemes() throws {
    let family = "👨‍👩‍👧‍👦"
    let content = try Self.content(#"{"a":{"b":"{{text}}"},"c":1}"#, #","trim":"apns.payload.a.b""#)
    let attributes = Array(#"{"text":"éa\#(family)\"\#(family)xyz"}"#.utf8)
    let whole = try #require(try Self.text(content, attributes: attributes))
    expect(whole, is: #"{"a":{"b":"éa\#(family)\"\#(family)xyz"},"c":1}"#)
    var shown: Set<String> = []
    for most in 0...whole.utf8.count {
      guard let text = try Self.text(content, attributes: attributes, most: most) else { continue }
      expect(text.utf8.count <= most)
      shown.insert(String(text.dropFirst(#"{"a":{"b":""#.count).dropLast(#""},"c":1}"#.count)))
    }
    expect(
      shown,
      is: [
        "…", "é…", "éa…", "éa\(family)…", #"éa\#(family)\"…"#, #"éa\#(family)\"\#(family)xyz"#,
      ], "the last three letters take no more room than the ellipsis")
    expect(try Self.text(content, attributes: attributes, most: #"{"a":{"b":""},"c":1}"#.utf8.count), is: nil)
  }

  @Test func sizesAreThoseOfThePayload() throws {
    let bytes = Array(
      #"{"apns":{"payload":{"a":"{{x|fallback}}","t":"long text"}},"uniqueKey":"id","trim":"apns.payload.t"}"#.utf8)
    guard case .object(let fields) = try JSONValue(parsing: bytes, maximumDepth: 9).kind else { return }
    let form = try #require(try PayloadForm.all(of: fields, in: bytes, for: APNsService()).first)
    let content = try Self.content(
      #"{"a":"{{x|fallback}}","t":"long text"}"#, #","uniqueKey":"id","trim":"apns.payload.t""#)
    let text = try #require(try Self.text(content))
    expect(form.template.size, is: text.utf8.count)
    expect(try Self.text(content, most: form.size)?.contains("…"), is: true)
    expect(try Self.text(content, most: form.size - 1), is: nil)
  }

  /// A target that crashes workers becomes a job of its own, to a token without known data.
  @Test func jobForOneTokenHasThePayloadOfItsUser() throws {
    let job =
      #"{"id":"a","app":"n","audience":{"segment":"*"},"apns":{"payload":{"a":"{{x}}"}},"localized":{"de":{}},"vars":true}"#
    let observed = Array(#"{"a":"{{x}} {{{ }}"}"#.utf8)
    let alone = try CampaignJob.forSingleDevice(
      Array(job.utf8), token: "00", of: "", suffix: "1", payload: observed, for: APNsService())
    expect(!String(decoding: alone, as: UTF8.self).contains("localized"))
    guard case .object(let members) = try JSONValue(parsing: alone, maximumDepth: 8).kind else { return }
    let content = try JobPayload(JobFields(members), in: alone, to: .tokens([]), for: APNsService()).content
    expect(try Self.text(content), is: String(decoding: observed, as: UTF8.self))
    let template =
      #"{"id":"a","app":"n","audience":{"segment":"*"},"template":{"name":"t","version":1,"apns":{"payload":{"a":1}}}}"#
    let flat = try CampaignJob.forSingleDevice(
      Array(template.utf8), token: "00", of: "", suffix: "1", for: APNsService())
    expect(String(decoding: flat, as: UTF8.self).hasSuffix(#","apns":{"payload":{"a":1}}}"#))
  }

  // MARK: Random values

  /// For any values the payload is valid JSON with the expected text. It is within the limit, or it is not sent.
  @Test func noValueBreaksThePayload() throws {
    var random = Seed("noValueBreaksThePayload")
    let pieces = [
      "\"", "\\", "}", "{", "{{x}}", "}}", ",", ":", "\n", "\0", "\u{1f}", "é", "e\u{301}", "😀", "👩‍👧", "🇩🇪", "\u{202e}",
      "a", " ",
      "</script>", "\\u0041", "|", "null", "\u{feff}", "中文", "x|y",
    ]
    func word(_ most: Int) -> String {
      (0..<Int.random(in: 0...most, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
    }
    var (sent, refused, trimmed) = (0, 0, 0)
    for round in 0..<3000 {
      let text = word(6).replacing("{", with: "(")
      let trims = Bool.random(using: &random)
      let shown = JSONWriter.escaped(text)
      let payload = #"{"t":"\#(String(decoding: shown, as: UTF8.self))<{{x|-}}>","n":[{"y":"{{y}}"}]}"#
      let content = try Self.content(payload, trims ? #","trim":"apns.payload.t""# : "")
      let values = ["x": word(12), "y": word(4)].filter { _ in Int.random(in: 0..<8, using: &random) > 0 }
      var json = JSONWriter()
      json.beginObject()
      for (name, value) in values { json.member(name, value) }
      json.endObject()
      var attributes = json.bytes
      // Sometimes the stored attributes are corrupt.
      if round % 4 == 0, !attributes.isEmpty {
        let place = Int.random(in: 0..<attributes.count, using: &random)
        attributes[place] = UInt8.random(in: 0...255, using: &random)
      }
      let most = Int.random(in: 20...160, using: &random)
      guard let text = try Self.text(content, attributes: attributes, most: most) else {
        refused += 1
        continue
      }
      expect(text.utf8.count <= most)
      let root = try JSONValue(parsing: Array(text.utf8), maximumDepth: 8)
      guard case .object(let members) = root.kind, members.map(\.name) == ["t", "n"] else {
        Issue.record("another payload: \(text)")
        continue
      }
      sent += 1
      guard round % 4 != 0, case .string(let title)? = members.value("t")?.kind else { continue }
      let whole = Self.plain(shown) + "<" + (values["x"] ?? "-") + ">"
      if title == whole { continue }
      trimmed += 1
      expect(trims && title.hasSuffix("…"))
      expect(Array(whole).starts(with: Array(title.dropLast())), "between two graphemes: \(title) of \(whole)")
    }
    expect(sent > 1000 && refused > 100 && trimmed > 100, "\(sent) sent, \(refused) refused, \(trimmed) trimmed")
  }

  private static func plain(_ escaped: [UInt8]) -> String {
    guard let value = try? JSONValue(parsing: [0x22] + escaped + [0x22], maximumDepth: 1),
      case .string(let text) = value.kind
    else { return "" }
    return text
  }
}
