import APNs
import FCM
import PushCore
import TestKit
import TestSupport
import Testing

private let service = APNsService()
private let services = PushServices(standard: service)
private let vocabulary = DeviceVocabulary(services: services, now: 1_800_000_000_000)

/// Reads a whole text in chunks of one size.
private func read(
  _ text: some Sequence<UInt8>, as format: DeviceRowReader.Format, chunk size: Int = 1 << 16,
  _ vocabulary: DeviceVocabulary = vocabulary
) throws -> [Result<DeviceRow, DeviceRowReader.RowError>] {
  var reader = DeviceRowReader(format: format, vocabulary)
  var rows: [Result<DeviceRow, DeviceRowReader.RowError>] = []
  var rest = Array(text)[...]
  while !rest.isEmpty {
    rows += try reader.read(rest.prefix(size))
    rest = rest.dropFirst(size)
  }
  return rows + (try reader.finish())
}

/// Returns one line for each row: `user token` or `line: message`.
private func summary(_ rows: [Result<DeviceRow, DeviceRowReader.RowError>]) -> [String] {
  rows.map { row in
    switch row {
    case .success(let device): "\(device.user) \(service.text(of: device.token))"
    case .failure(let error): "\(error.line): \(error.message)"
    }
  }
}

struct DeviceRowReaderTests {
  @Test(arguments: [1, 2, 3, 7, 64, 1 << 16])
  func readsWholeCSVRowsWhateverTheChunks(size: Int) throws {
    let text =
      [
        "\u{FEFF}token,user,app,environment,locale,timezone,appVersion,osVersion,registeredAt,lastSeen,city,",
        #""first ""name""""#, "\r\n",
        "<00FF aa>,zoë,news,sandbox,zh-Hans-CN,Europe/Berlin,5.2,iOS 19,2026-12-01T09:00:00Z,1796115600007,",
        #""Paris, France","A ""B"""#, "\nC\"\r\n\r\n", #"ab,"2",,,,,,,,,,"#,
      ].joined()
    let rows = try read(text.utf8, as: .csv, chunk: size).map { try $0.get() }
    let (first, second) = try (#require(service.token("00ffaa")), #require(service.token("ab")))
    expect(
      rows,
      is: [
        DeviceRow(
          user: "zoë", token: first, service: "apns", app: "news", environment: .sandbox, locale: "zh-Hans-CN",
          timezone: "Europe/Berlin", appVersion: "5.2", osVersion: "19", registeredAt: 1_796_115_600_000,
          lastSeen: 1_796_115_600_007, attributes: ["city": "Paris, France", "first \"name\"": "A \"B\"\nC"]),
        DeviceRow(user: "2", token: second, service: "apns"),
      ])
  }

  @Test(arguments: [1, 3, 1 << 16])
  func readsNDJSON(size: Int) throws {
    let text = """
      {"user":"zoë","token":"00FF","registeredAt":1796115600007,"lastSeen":"2026-12-01T09:00:00Z","city":"Paris","vip":true}

      {"user":"2","token":"ab","app":null,"score":1.50}\r
      """
    let rows = try read(text.utf8, as: .ndjson, chunk: size).map { try $0.get() }
    let (first, second) = try (#require(service.token("00ff")), #require(service.token("ab")))
    expect(
      rows,
      is: [
        DeviceRow(
          user: "zoë", token: first, service: "apns", registeredAt: 1_796_115_600_007, lastSeen: 1_796_115_600_000,
          attributes: ["city": "Paris", "vip": "true"]),
        DeviceRow(user: "2", token: second, service: "apns", attributes: ["score": "1.50"]),
      ])
  }

  @Test(arguments: ["\n", "\r\n", "\r"], [1, 2, 5, 1 << 16])
  func badRowsCostOnlyThemselves(newline: String, size: Int) throws {
    let text = [
      "user,token,registeredAt", "a,00,", "b,xyz,", ",00,", "c,00", "d,00,,", "e,00,yesterday", "\"f\"x,00,",
      "g\"h,00,",
      "\"i", "j\",01,", "k,02,", "\"l,00,", "m,03,", "n,04,-1",
    ].joined(separator: newline)
    let expected = [
      "a 00", "3: token: not hex of 1 to 200 bytes", "4: user: is missing", "5: 2 fields, but the header has 3",
      "6: 4 fields, but the header has 3",
      "7: registeredAt: 'yesterday' is neither milliseconds since 1970 nor RFC 3339, such as 2026-12-01T09:00:00Z",
      "8: text after a closing quote", "9: a quote inside a field that doesn't begin with a quote",
      "10: a user id must not have control characters", "k 02", "13: a quote is not closed", "m 03",
      "15: registeredAt: '-1' is neither milliseconds since 1970 nor RFC 3339, such as 2026-12-01T09:00:00Z",
    ]
    expect(summary(try read(text.utf8, as: .csv, chunk: size)), is: expected)
  }

  @Test(arguments: [1, 9, 1 << 16])
  func badLinesOfNDJSONCostOnlyThemselves(size: Int) throws {
    let text = [
      #"{"user":"a","token":"00"}"#, #"{"user":"b"}"#, "[]", "{", #"{"user":"c","token":"00","tags":["x"]}"#,
      #"{"user":"d","token":"00","user":"e"}"#, #"{"user":"f","token":"0"}"#,
      #"{"user":"g","token":"00","environment":"staging"}"#, #"{"user":"","token":"00"}"#, #"{"user":7,"token":"07"}"#,
    ].joined(separator: "\n")
    let expected = [
      "a 00", "2: token: is missing", "3: must be a JSON object, not an array",
      "4: not valid JSON: column 2: expected a member name in quotes, found the end",
      "5: 'tags': must be a string or a number, not an array",
      "6: not valid JSON: column 26: 'user' appears twice in one object", "7: token: not hex of 1 to 200 bytes",
      "8: environment: 'staging' is neither production nor sandbox", "9: user: is missing", "7 07",
    ]
    expect(summary(try read(text.utf8, as: .ndjson, chunk: size)), is: expected)
  }

  /// No campaign of the app could reach such a device.
  @Test func serviceThatTheAppDoesNotUseIsABadRow() throws {
    let fcm = FCMService()
    var vocabulary = DeviceVocabulary(
      services: PushServices(standard: service, others: [fcm], apps: ["android": [fcm], "both": [service, fcm]]),
      apps: ["news", "android", "both"], now: 1_800_000_000_000)
    let token = "cXl3bTVhQk1SZTJ0d2R5Zw:APA91bF4kE"
    let text = [
      "user,token,app,service", "a,\(token),news,fcm", "b,00,android,apns", "c,\(token),both,fcm", "d,00,news,apns",
      "e,\(token),,fcm",
    ].joined(separator: "\n")
    func read(_ vocabulary: DeviceVocabulary) throws -> [String] {
      try PushCoreTests.read(text.utf8, as: .csv, vocabulary).map { row in
        switch row {
        case .success(let row): row.user
        case .failure(let error): "\(error.line): \(error.message)"
        }
      }
    }
    let refused = [
      "2: service: app news does not use fcm; it uses apns", "3: service: app android does not use apns; it uses fcm",
    ]
    expect(try read(vocabulary), is: refused + ["c", "d", "e"])
    vocabulary.apps = ["news"]
    vocabulary.services = PushServices(standard: service, others: [fcm])
    expect(try read(vocabulary).last, is: "6: service: no app in the configuration uses fcm")
  }

  @Test(arguments: [
    ("kind", "voip", "kind: FCM has one token for all messages"), ("environment", "sandbox", "FCM has no sandbox"),
  ])
  func kindAndEnvironmentMustBeThoseOfTheService(column: String, value: String, says: String) throws {
    let vocabulary = DeviceVocabulary(
      services: PushServices(standard: service, others: [FCMService()]), now: 1_800_000_000_000)
    let text = "user,token,service,\(column)\na,cXl3bTVhQk1SZTJ0d2R5Zw:APA91bF4kE,fcm,\(value)\nb,00,apns,\(value)"
    let rows = try PushCoreTests.read(text.utf8, as: .csv, vocabulary)
    guard case .failure(let error) = try #require(rows.first), case .success? = rows.last else {
      Issue.record("\(rows)")
      return
    }
    expect(error.line == 2 && error.message.contains(says))
  }

  @Test(arguments: DeviceRowReader.Format.allCases, [100, 1 << 20])
  func aRecordIsBounded(format: DeviceRowReader.Format, size: Int) throws {
    let long = String(repeating: "x", count: 100_000)
    let row = { (user: String) in format == .csv ? "\(user),00" : #"{"user":"\#(user)","token":"00"}"# }
    let head = format == .csv ? "user,token\n" : ""
    let text = head + [row("a"), row(long), row("b"), ""].joined(separator: "\n")
    let lines = summary(try read(text.utf8, as: format, chunk: size))
    expect(lines.count, is: 3)
    expect(lines.first == "a 00" && lines.last == "b 00")
    expect(lines[1].contains("longer than 16384 bytes"))
  }

  @Test func unclosedQuoteAffectsOnlyItsLine() throws {
    let rows = (0..<5000).map { "u\($0),00" }
    let lines = summary(
      try read(("user,token\n\"open,00\n" + rows.joined(separator: "\n")).utf8, as: .csv, chunk: 4096))
    expect(lines.count, is: 5001)
    expect(lines.first, is: "2: longer than 16384 bytes, or a quote is not closed")
  }

  @Test func bytesThatAreNotUTF8AreABadRow() throws {
    let bytes = Array("user,token\n".utf8) + [0xFF, 0x2C, 0x30, 0x30, 0x0A] + Array("b,00".utf8)
    expect(summary(try read(bytes, as: .csv)), is: ["2: field 1 is not UTF-8", "b 00"])
  }

  @Test(arguments: [
    ("", "the file is empty"),
    ("\n\n", "the file is empty"),
    ("user,locale\n", "no column 'token'"),
    ("usr,token\n", "no column 'user'; is 'usr' meant?"),
    ("a,00\n", "no column 'user'"),
    ("user,token,user\n", "two columns are named 'user'"),
    ("user,token,\n", "column 3: '' is not a valid attribute name"),
    ("user,token,registered_at\n", "column 3: 'registered_at' is similar to the column registeredAt: rename it, or"),
    ("user,token,appversion\n", "'appversion' is similar to the column appVersion"),
    ("user,token,Last Seen\n", "'Last Seen' is similar to the column lastSeen"),
    ("user,token,timezon\n", "--allow-attribute timezon"),
  ])
  func aFileNeedsAHeader(text: String, message: String) {
    let error = #expect(throws: DeviceRowReader.FileError.self) { try read(text.utf8, as: .csv) }
    expect(error?.description.contains(message), is: true, "\(error?.description ?? "")")
  }

  @Test func deviceWithAnUnknownZoneIsKeptWithoutOne() throws {
    let text =
      "user,token,timezone\na,01,Europe/Berlin\nb,02,Mars/Phobos\nc,03,UTC\nd,04,Europe/Berln\ne,05,US/Eastern\nf,06,\n"
    let rows = try read(text.utf8, as: .csv)
    expect(
      summary(rows),
      is: [
        "a 01", "b 02",
        "3: timezone: 'Mars/Phobos' is not a time zone; examples are Europe/Berlin and UTC; use the IANA name, or an offset such as "
          + "+02:00 (the device is stored without a time zone)", "c 03", "d 04",
        "5: timezone: 'Europe/Berln' is not a time zone; examples are Europe/Berlin and UTC; did you mean 'Europe/Berlin'? (the "
          + "device is stored without a time zone)", "e 05", "f 06",
      ])
    let zones = rows.compactMap { try? $0.get() }.map(\.timezone)
    expect(zones, is: ["Europe/Berlin", nil, "UTC", nil, "US/Eastern", nil])
  }

  @Test func nameLikeAColumnIsAnErrorUnlessItIsAllowed() throws {
    let line = #"{"user":"a","token":"00","registered_at":"2026-01-01T00:00:00Z"}"#
    let observed = summary(try read(line.utf8, as: .ndjson))
    expect(observed.count == 1 && observed[0].hasPrefix("1: 'registered_at' is similar to the column registeredAt"))
    var meant = vocabulary
    meant.allowedAttributes = ["registered_at"]
    let rows = try read(line.utf8, as: .ndjson, meant)
    expect(try rows.first?.get().attributes, is: ["registered_at": "2026-01-01T00:00:00Z"])
    // A name without a similar column is an attribute.
    let attributes = ["city", "plan", "vip", "score", "name", "age", "country", "version", "language"]
    let header = "user,token," + attributes.joined(separator: ",") + "\n"
    expect(try read((header + "a,00" + String(repeating: ",x", count: attributes.count)).utf8, as: .csv).count, is: 1)
  }

  @Test func unknownAppAndMalformedLocaleAreBadRows() throws {
    var known = vocabulary
    known.apps = ["news", "shop"]
    let text = "user,token,app,locale\na,00,news,de\nb,01,newz,de\nc,02,shop,xx_YY!\nd,03,,zh_Hans-CN\ne,04,,e\n"
    expect(
      summary(try read(text.utf8, as: .csv, known)),
      is: [
        "a 00", "3: app: no app 'newz' in the configuration; did you mean 'news'?",
        "4: locale: 'xx_YY!' is not a language tag; write it as en, pt-BR or zh-Hans", "d 03",
        "6: locale: 'e' is not a language tag; write it as en, pt-BR or zh-Hans",
      ])
    // Without a configuration the apps are unknown.
    expect(summary(try read("user,token,app\na,00,newz\n".utf8, as: .csv)), is: ["a 00"])
  }

  @Test func attributesAreBounded() throws {
    var draft = DeviceRowDraft(vocabulary)
    #expect(throws: DeviceRowDraft.Problem.self) {
      try draft.setAttribute("a", to: String(repeating: "x", count: 1025))
    }
    for index in 0..<64 { try draft.setAttribute("a\(index)", to: "x") }
    #expect(throws: DeviceRowDraft.Problem.self) { try draft.setAttribute("b", to: "x") }
  }

  @Test(arguments: DeviceRowReader.Format.allCases)
  func noFileCrashesTheReader(format: DeviceRowReader.Format) throws {
    var random = Seed("noFileCrashesTheReader \(format)")
    let pieces = [
      "\"", "\"\"", ",", "\n", "\r\n", "\r", "user,token\n", "a,00\n", "{\"user\":\"a\",\"token\":\"00\"}\n", "x", "é",
      "{",
      "\u{FEFF}", "\0", "\"a\n\",00\n",
    ].map { Array($0.utf8) }
    for _ in 0..<3000 {
      var bytes: [UInt8] = format == .csv ? Array("user,token\n".utf8) : []
      for _ in 0..<Int.random(in: 0..<40, using: &random) { bytes += pieces.randomElement(using: &random) ?? [] }
      if !bytes.isEmpty {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
      }
      // The size of the chunks must make no difference.
      let whole = try? summary(read(bytes, as: format))
      let chunked = try? summary(read(bytes, as: format, chunk: Int.random(in: 1..<9, using: &random)))
      expect(whole, is: chunked, "\(bytes)")
    }
  }
}

struct DeviceRowWriterTests {
  @Test(arguments: DeviceRowReader.Format.allCases)
  func writtenRowsAreReadBackUnchanged(format: DeviceRowReader.Format) throws {
    let token = try #require(service.token("00ffaa"))
    let rows = [
      DeviceRow(user: "a,b", token: token, service: "apns", attributes: ["say": "\"hi\"\r\nyou"]),
      DeviceRow(
        user: "=zoë", token: token, service: "apns", app: "news", environment: .production, locale: "de",
        timezone: "UTC",
        appVersion: "1", osVersion: "2", registeredAt: 1_796_115_600_007, lastSeen: 1_796_115_600_008,
        attributes: ["city": "Paris", "say": "\u{1}\\"]),
      DeviceRow(user: "3", token: token, service: "apns"),
    ]
    var writer = DeviceRowWriter(format: format, services: services, attributes: ["city", "say"])
    var bytes: [UInt8] = []
    for row in rows {
      writer.append(row)
      expect(writer.count > 0)
      bytes += writer.take()
    }
    expect(try read(bytes, as: format).map { try $0.get() }, is: rows)
    expect(writer.count, is: 0)
  }

  @Test func spreadsheetsGetNothingThatMisleads() {
    var csv = CSVWriter(spreadsheetSafe: true)
    csv.cell("a\u{202E}b\u{1B}c")
    csv.cell("two\nlines")
    csv.endRecord()
    expect(String(decoding: csv.bytes, as: UTF8.self), is: "a\u{FFFD}b\u{FFFD}c,\"two\nlines\"\r\n")
    // An export that can be imported again keeps every byte.
    var plain = CSVWriter()
    plain.cell("a\u{202E}b")
    expect(String(decoding: plain.bytes, as: UTF8.self), is: "a\u{202E}b")
  }

  @Test func spreadsheetsGetNoFormulas() {
    var csv = CSVWriter(spreadsheetSafe: true)
    for cell in ["=1+1", "+1", "-1", "@x", "a=b", "", "=\",\"", "-1"] { csv.cell(cell) }
    csv.endRecord()
    expect(String(decoding: csv.bytes, as: UTF8.self), is: "'=1+1,'+1,'-1,'@x,a=b,,\"'=\"\",\"\"\",'-1\r\n")
  }

  @Test func jsonIsEscapedByTheRules() throws {
    var json = JSONWriter()
    json.beginObject()
    json.member("a\"", "x\\\n\u{1F}é😀")
    json.name("list")
    json.beginArray()
    json.value(1)
    json.value(nil as String?)
    json.value(true)
    json.beginObject()
    json.endObject()
    json.endArray()
    json.member("n", nil as Int?)
    json.endObject()
    expect(json.text, is: #"{"a\"":"x\\\n\u001fé😀","list":[1,null,true,{}],"n":null}"#)
    _ = try JSONValue(parsing: json.bytes, maximumDepth: 4)
  }
}
