import APNs
import CommandSupport
import FCM
import Foundation
import PushCore
import TLS
import TestKit
import TestSupport
import Testing

@testable import carillon

/// Tables of texts that people paste and export, one for each kind of text. Rows are inputs and columns are readers.
struct PastedTextTests {
  /// Texts and their ids, which are the same for every reader; `nil` for a text that every reader refuses.
  private static let ids: [(text: String, id: String?)] = [
    ("ada", "ada"), (" ada", "ada"), ("ada ", "ada"), ("\tada\r\n", "ada"), ("ada lovelace", "ada lovelace"),
    ("zoe\u{308}", "zo\u{EB}"), ("zo\u{EB}", "zo\u{EB}"), ("\u{212B}", "\u{C5}"),
    ("\u{1112}\u{1161}\u{11AB}", "\u{D55C}"),
    ("❤\u{FE0F}", "❤\u{FE0F}"), ("1e22", "1e22"), ("", nil), ("  ", nil), ("\u{FEFF}ada", nil), ("ada\u{200B}", nil),
    ("\u{A0}ada", nil), (" \u{A0}ada", nil), ("ada\u{2060}", nil), ("ada\u{3000}", nil), ("\u{AD}ada", nil),
    ("ada\u{3164}", nil), ("\u{202E}ada", nil), ("ada\u{2800}", nil), ("a\u{0}da", nil), ("a\nda", nil),
    (String(repeating: "x", count: 257), nil),
  ]

  @Test("all readers normalise or refuse an id in the same way", arguments: TextReader.allCases)
  func ids(_ reader: TextReader) throws {
    for (text, id) in Self.ids {
      let read = try? reader.user(text: text)
      // Swift's `==` treats canonically equivalent strings as equal. Redis compares bytes.
      expect(read.map { Array($0.utf8) }, is: id.map { Array($0.utf8) }, "\(Array(text.unicodeScalars))")
    }
  }

  @Test("all readers read a device token in the same way")
  func tokens() throws {
    let apple = String(repeating: "0a1F", count: 16)
    let android = "fK3dQ0bLQ0mB1x2y3z4A5b:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx"
    let installation = "cOfs8TqJQ0-B1x2y3z4A5_"
    for service in [APNsService() as any PushService, FCMService()] {
      let tokens = service.name == "fcm" ? [android, installation] : [apple]
      for token in tokens {
        let stored = service.name == "fcm" ? token : token.lowercased()
        let rows: [(text: String, token: String?)] = [
          (token, stored), (" " + token, stored), (token + " ", stored), ("\t" + token + "\r\n", stored),
          (token + "\n", stored), (token + "\u{200B}", nil), ("\u{FEFF}" + token, nil), ("\u{A0}" + token, nil),
          ("\"" + token + "\"", nil), (token + "," + token, nil), (token + "=", nil), (token + "\u{301}", nil),
          ("token:" + token + "!", nil), (String(repeating: token, count: 100), nil),
        ]
        for (text, expected) in rows {
          for (reader, read) in TokenReader.all {
            let found = (try? read(text, service)).map { service.text(of: $0) }
            expect(found, is: expected, "\(reader) \(service.name) \(Array(text.unicodeScalars))")
          }
        }
      }
    }
  }

  @Test("an id in JSON is a string or a whole number", arguments: TextReader.ofJSON)
  func numbers(_ reader: TextReader) {
    let rows: [(json: String, id: String?)] = [
      ("4711", "4711"), ("4711.0", "4711"), ("4711.00", "4711"), ("0", "0"), ("-3", "-3"), ("-0.0", "0"),
      ("18446744073709551616", "18446744073709551616"), (#""4711.0""#, "4711.0"), ("4711.5", nil), ("1e22", nil),
      ("1E3", nil), ("9007199254740994.0", nil), ("true", nil), ("false", nil), ("null", nil), ("{}", nil),
      ("[1]", nil),
    ]
    for (json, id) in rows { expect(try? reader.user(json: json), is: id, "\(json)") }
  }

  @Test("a file in another format is not accepted as a list of ids")
  func otherRows() {
    let lines = [
      "<!DOCTYPE html>", "<html><body>", #"{"users":["ada"]}"#, "[\"ada\"]", "{ada}", "ada;asked", "ada\tasked",
      "ada,asked",
      "4711.0", "4.711E+12", "\u{FEFF}ada",
    ]
    for line in lines {
      for number in 1...2 {
        if case .bad(let problem) = SegmentLine(line, number: number) {
          expect(!problem.isEmpty)
        } else {
          Issue.record("\(line) is taken for an id")
        }
      }
    }
    expect(SegmentLine("\"ada;asked\"", number: 1), is: .user("ada;asked"))
    expect(try? TextReader.row("user,token\n4711.0,00\n", .csv), is: nil)
    expect((try? TextReader.row("user,token\n\"4711.0\",00\n", .csv))?.user, is: "4711.0")
    let header = #expect(throws: DeviceRowReader.FileError.self) { try TextReader.row("user;token\nada;00\n", .csv) }
    expect(header?.description.contains("separated by semicolons"), is: true)
  }

  @Test("all readers accept an instant in milliseconds, up to a day ahead")
  func instants() throws {
    let now = TextReader.now
    let rows: [(text: String, instant: Int?)] = [
      ("\(now)", now), ("\(now).0", now), ("\(now + 86_400_000)", now + 86_400_000), ("2027-01-15T08:00:00Z", now),
      ("\(now / 1000)", nil), ("\(now * 1000)", nil), ("\(now + 86_400_001)", nil), ("2099-01-01T00:00:00Z", nil),
      ("1970-01-01T00:00:00Z", nil), ("0", nil), ("-1", nil), ("1.8e12", nil), ("yesterday", nil), ("true", nil),
    ]
    for (text, instant) in rows {
      let json = Double(text) == nil && text != "true" ? "\"\(text)\"" : text
      for column in ["registeredAt", "lastSeen"] {
        let row = try? TextReader.row("user,token,\(column)\na,00,\(text)\n", .csv)
        expect(column == "lastSeen" ? row?.lastSeen : row?.registeredAt, is: instant, "CSV \(column) \(text)")
        let line = try? TextReader.row(#"{"user":"a","token":"00","\#(column)":\#(json)}"#, .ndjson)
        expect(column == "lastSeen" ? line?.lastSeen : line?.registeredAt, is: instant, "NDJSON \(column) \(text)")
        let event = try? TextReader.event(#"{"op":"register","user":"a","token":"00","\#(column)":\#(json)}"#)
        guard case .register(let device) = event?.change else {
          expect(instant, is: nil, "event \(column) \(text)")
          continue
        }
        expect(column == "lastSeen" ? device.lastSeen : device.registeredAt, is: instant, "event \(column) \(text)")
      }
      let event = try? TextReader.event(#"{"op":"tag","user":"a","tags":["vip"],"at":\#(json)}"#)
      expect(event?.at, is: instant, "at of an event: \(text)")
      let receipt = #"{"event":"opened","campaign":"c","user":"a","at":\#(json)}"#
      expect(
        ((try? ReceiptEvent(parsing: Array(receipt.utf8), now: now)) != nil), is: instant != nil, "receipt \(text)")
      var draft = DeviceRowDraft(TextReader.vocabulary)
      expect((try? draft.set(.registeredAt, to: text)) != nil, is: instant != nil, "command \(text)")
    }
    let seconds = #expect(throws: IdentifierError.self) { try InstantText.read("1800000000", "lastSeen", now: now) }
    expect(seconds?.description.contains("are these seconds?"), is: true)
    let micro = #expect(throws: IdentifierError.self) { try InstantText.read("\(now)000", "lastSeen", now: now) }
    expect(micro?.description.contains("are these microseconds?"), is: true)
  }

  @Test("a version that does not begin with a number is refused")
  func versions() {
    let rows: [(text: String, version: String?)] = [
      ("5.2", "5.2"), (" 5.2", "5.2"), ("v5.2", "5.2"), ("V5", "5"), ("iOS 17.1", "17.1"), ("iPadOS 18.0.1", "18.0.1"),
      ("Version 17.1 (Build 21B74)", "17.1"), ("Version v2.0", "2.0"), ("5.2.0-beta.2", "5.2.0-beta.2"),
      ("5.2 (1042)", "5.2"), ("latest", nil), ("iOS", nil), ("iOS17", nil), ("v", nil), ("-1", nil), ("17 1", nil),
    ]
    for (text, version) in rows {
      for column in ["appVersion", "osVersion"] {
        let read = [
          try? TextReader.row("user,token,\(column)\na,00,\(text)\n", .csv),
          try? TextReader.row(#"{"user":"a","token":"00","\#(column)":"\#(text)"}"#, .ndjson),
        ]
        for row in read { expect(column == "appVersion" ? row?.appVersion : row?.osVersion, is: version, "\(text)") }
      }
    }
  }

  @Test("all readers get the same name and value of an attribute")
  func attributes() throws {
    let (name, value) = ("pri\u{301}x", "Zu\u{308}rich")
    let known = ["pr\u{ED}x": "Z\u{FC}rich"]
    let predicate = try DevicePredicate(parsing: "\" \(name) \" = '\(value)'")
    expect(predicate.attributes.map { Array($0.utf8) }, is: known.keys.map { Array($0.utf8) })
    let csv = try TextReader.row("user,token, \(name) \na,00,\(value)\n", .csv)
    let line = try TextReader.row(#"{"user":"a","token":"00"," \#(name)":"\#(value)"}"#, .ndjson)
    for attributes in [csv.attributes, line.attributes] {
      expect(
        attributes.map { [Array($0.key.utf8), Array($0.value.utf8)] },
        is: known.map { [Array($0.key.utf8), Array($0.value.utf8)] })
    }
    guard
      case .attributes(_, let stored) = try TextReader.event(#"{"op":"attribute","user":"a","\#(name) ":"\#(value)"}"#)
        .change
    else { throw CancellationError() }
    expect(stored.keys.map { Array($0.utf8) }, is: known.keys.map { Array($0.utf8) })
    expect(stored.values.map { Array(($0 ?? "").utf8) }, is: known.values.map { Array($0.utf8) })
    expect(predicate, is: try DevicePredicate(parsing: "\"pr\u{ED}x\" = 'Z\u{FC}rich'"))
    guard case .tag(_, let tags, _) = try TextReader.event(#"{"op":"tag","user":"a","tags":[" vip "]}"#).change else {
      throw CancellationError()
    }
    expect(Array(tags), is: ["vip"])
    let values = try JobRecipient.line(#"{"user":"a","vars":{" \#(name)":1}}"#).values
    expect(values, is: Array("{\"pr\u{ED}x\":1}".utf8))
    for bad in ["\u{200B}price", "price\u{FEFF}"] {
      expect(try? TextReader.row("user,token,\(bad)\na,00,1\n", .csv), is: nil)
      expect(try? TextReader.row(#"{"user":"a","token":"00","\#(bad)":1}"#, .ndjson), is: nil)
      expect(try? TextReader.event(#"{"op":"attribute","user":"a","\#(bad)":1}"#), is: nil)
      expect((try? JobRecipient.line(#"{"user":"a","vars":{"\#(bad)":1}}"#)) == nil)
      expect(try? DevicePredicate(parsing: "\"\(bad)\" exists"), is: nil)
    }
  }

  @Test("normalisation agrees with canonical equivalence for random texts")
  func composition() {
    var random = Seed("composition")
    let pieces = [
      "a", "e", "\u{308}", "\u{301}", "\u{323}", "\u{327}", "\u{1112}", "\u{1161}", "\u{11AB}", "\u{F1}", "\u{1E69}",
      "한", "9", "\u{1F600}",
    ]
    for _ in 0..<2000 {
      var text = "x"
      for _ in 0..<6 { text += pieces.randomElement(using: &random) ?? "" }
      let decomposed = text.decomposedStringWithCanonicalMapping
      expect(Array(Identifier.composed(text).utf8), is: Array(Identifier.composed(decomposed).utf8))
      expect(Identifier.composed(text), is: text)
    }
  }
}

/// Files saved by an editor on Windows, and environment variables set by a shell.
struct SavedTextTests {
  @Test("a byte order mark at the start of a file is skipped")
  func marks() async throws {
    let folder = try ScratchFolder()
    let mark = "\u{FEFF}"
    let job = try folder.write("job.json", mark + #"{"id":"c"}"#)
    expect(try InputFile.contents(job, limit: 100), is: Array(#"{"id":"c"}"#.utf8))
    expect((try? JSONValue(parsing: Array((mark + "{}").utf8), maximumDepth: 2)) != nil)
    let secret = try folder.writeSecret("secret", mark + "open sesame\r\n")
    expect(try SecretFile.passphrase(secret), is: Array("open sesame".utf8))
    expect(try SecretFile.read(secret).starts(with: Array("open".utf8)))
    let yaml = try folder.write(
      "carillon.yaml",
      mark + "apps:\n  news:\n    apns:\n      topic: com.example.news\n      environment: sandbox\n      token:\n"
        + "        keyFile: k.p8\n        keyID: ABC123DEFG\n        teamID: DEF123GHIJ\n")
    let configuration = try ConfigurationLoader(
      argument: yaml,
      environment: ["CARILLON_REDIS_URL": "redis://r:6379/\n", "CARILLON_APPS_NEWS_APNS_TOPIC": "com.example.b\r\n"]
    ).load()
    expect(configuration.apps["news"]?.apns?.topic, is: "com.example.b")
    expect(ConfigurationLoader(argument: nil, environment: ["CARILLON_CONFIG": yaml + "\n"]).file, is: yaml)
  }

  @Test("an opt-out applies to the user in every spelling of the id")
  func sameUser() async throws {
    let world = try await CarillonWorld()
    try await world.succeed(
      "devices", "import", "-", "--format", "csv",
      input: "user,token\n ada,\(CarillonWorld.token(1))\nzoe\u{308},\(CarillonWorld.token(2))\n")
    let list = try world.folder.write("optedout.csv", "\u{FEFF}ada \nzo\u{EB}\n")
    try await world.succeed("suppression", "import", "news", list)
    let count = try await world.succeed(
      "campaign", "submit", "-", "--estimate",
      input: CarillonWorld.job("c", audience: #"{"users":[" ada","zo\u00eb"]}"#))
    expect(count.hasPrefix("0 users, 0 pushes"), "\(count)")
    expect(try JSONObject(await world.succeed("devices", "show", "zoe\u{308}", "--json")).text("user"), is: "zo\u{EB}")
    try await world.succeed("users", "erase", " zoe\u{308}", "--yes")
    expect(try await world.succeed("suppression", "export", "news"), is: "ada\n")
  }

  @Test("a replacement counts from the modification time of its file")
  func replacement() async throws {
    let world = try await CarillonWorld()
    let list = try world.folder.write("optedout.csv", "ada\nben\n")
    let hourAgo = Date.now.addingTimeInterval(-3600)
    try FileManager.default.setAttributes([.modificationDate: hourAgo], ofItemAtPath: list)
    // This opt-out is newer than the file.
    try await world.succeed("suppression", "add", "news", "late")
    try await world.succeed("suppression", "import", "news", list, "--replace")
    func members() async throws -> [Substring] {
      try await world.succeed("suppression", "export", "news").split(separator: "\n").sorted()
    }
    expect(try await members(), is: ["ada", "ben", "late"])
    // The same file again, and an older file.
    try await world.succeed("suppression", "import", "news", list, "--replace")
    let old = Timestamp.format(milliseconds: Int(hourAgo.timeIntervalSince1970 * 1000) - 60_000)
    let older = try await world.run("suppression", "import", "news", list, "--replace", "--as-of", old)
    expect(older.exit == .status(65) && older.standardError.contains("which is later"), "\(older.standardError)")
    expect(try await members(), is: ["ada", "ben", "late"])
    let now = Timestamp.format(milliseconds: Int(Date.now.timeIntervalSince1970 * 1000))
    try await world.succeed("suppression", "import", "news", list, "--replace", "--as-of", now)
    expect(try await members(), is: ["ada", "ben"])
  }
}
