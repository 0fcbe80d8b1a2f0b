import APNs
import FCM
import PushCore
import TestKit
import Testing

private let services = PushServices(
  standard: APNsService(), others: [FCMService()],
  apps: ["both": [APNsService(), FCMService()], "android": [FCMService()]])
private let ada = String(repeating: "a1", count: 32)
private let ben = String(repeating: "b2", count: 32)
private let fcm = "dGhpcyBpcyBubyBBUE5z:APA91bF-" + String(repeating: "x", count: 100)

/// Result of an import.
private struct Imported {
  var rows: [DeviceRow] = []
  var errors: [String] = []
  var foreign = ForeignColumns()

  init(
    _ text: String, _ system: ForeignSystem, _ format: DeviceRowReader.Format = .ndjson, chunk: Int = 1 << 16,
    app: String = "news", attributes: Set<String> = []
  ) throws {
    let vocabulary = DeviceVocabulary(
      services: services, apps: ["news", "both", "android"], app: app, allowedAttributes: attributes,
      now: 1_800_000_000_000)
    var reader = DeviceRowReader(format: format, vocabulary, from: system)
    var rest = Array(text.utf8)[...]
    var results: [Result<DeviceRow, DeviceRowReader.RowError>] = []
    while !rest.isEmpty {
      results += try reader.read(rest.prefix(chunk))
      rest = rest.dropFirst(chunk)
    }
    results += try reader.finish()
    for result in results {
      switch result {
      case .success(let row): rows.append(row)
      case .failure(let error): errors.append("\(error.line): \(error.message)")
      }
    }
    foreign = reader.foreign
  }

  /// Lines of `user token kind environment`.
  var devices: [String] {
    rows.map { row in
      "\(row.user) \(services.standard.text(of: row.token).prefix(2)) \(row.kind.rawValue) "
        + (row.environment?.rawValue ?? "-")
    }
  }
}

/// Exports in the formats of the other systems, shortened.
struct ForeignImportTests {
  private static let onesignal = """
    id,identifier,session_count,language,timezone,game_version,device_os,device_type,device_model,ad_id,tags,\
    last_active,playtime,amount_spent,created_at,invalid_identifier,badge_count,external_user_id,country,timezone_id,\
    favourite
    6a1f,\(ada),12,zh-Hans,-28800,5.2,17.4,0,"iPhone15,2",,"{""plan"":""gold"",""level"":4,""user"":""x""}",\
    2026-11-01 10:11:12 UTC,0,0.0,2024-03-01 08:00:00 UTC,f,0,ada,US,America/Los_Angeles,jazz
    6a2f,\(fcm),3,de,3600,5.1,14,1,Pixel 8,,{},1793527872,0,0,1709280000,f,0,ben,DE,Europe/Berlin,
    6a3f,\(ben),1,en,7200,5.2,17.0,0,iPhone,,,1793527872,0,0,1709280000,f,0,,,,
    6a4f,\(ben),1,en,0,5.2,17.0,0,iPhone,,,1793527872,0,0,1709280000,t,0,cleo,,,
    6a5f,ada@example.com,0,en,0,,,11,,,,1793527872,0,0,1709280000,f,0,ada,,,
    6a6f,,0,en,0,,,0,,,,1793527872,0,0,1709280000,f,0,dora,,,
    6a7f,\(ben),1,en,0,5.2,17.0,23,Fridge,,,1793527872,0,0,1709280000,f,0,emil,,,

    """

  @Test(arguments: [1, 7, 1 << 16]) func onesignal(chunk: Int) throws {
    let imported = try Imported(Self.onesignal, .onesignal, .csv, chunk: chunk)
    expect(imported.devices, is: ["ada a1 alert -", "onesignal:6a3f b2 alert -"])
    let row = try #require(imported.rows.first)
    expect(
      row.attributes, is: ["plan": "gold", "level": "4", "onesignal.user": "x", "country": "US"])
    expect(row.locale == "zh-Hans" && row.timezone == "America/Los_Angeles")
    expect(row.appVersion == "5.2" && row.osVersion == "17.4")
    expect(row.lastSeen == 1_793_527_872_000 && row.registeredAt == 1_709_280_000_000)
    // Only the offset in seconds is known. Whole hours have a name.
    expect(imported.rows.last?.timezone, is: "+02:00")
    expect(imported.foreign.leftOut, is: ["Android": 1, "unsubscribed": 1, "e-mail": 1, "no token": 1])
    expect(imported.foreign.unknown, is: ["favourite"])
    expect(imported.errors.count, is: 1)
    expect(imported.errors.first?.hasPrefix("8: device_type: '23' is not a known value of onesignal"), is: true)
  }

  @Test func unknownColumnBecomesAnAttributeWhenItIsNamed() throws {
    let imported = try Imported(Self.onesignal, .onesignal, .csv, attributes: ["favourite"])
    expect(imported.rows.first?.attributes["favourite"], is: "jazz")
    expect(imported.foreign.unknown.isEmpty)
  }

  /// Names of attributes follow the usual rules. A name that no template can use is left out.
  @Test func attributeThatHasNoNameIsLeftOut() throws {
    let imported = try Imported(
      """
      id,identifier,device_type,external_user_id,tags
      6a1f,\(ada),0,ada,"{"" plan "":""gold"",""\u{200B}level"":""4"","" "":""5""}"

      """, .onesignal, .csv)
    expect(imported.rows.first?.attributes == ["plan": "gold"] && imported.errors.isEmpty)
    expect(imported.foreign.columns.first { $0.name == "tags" }?.unusable, is: 2)
  }

  /// A spreadsheet or a data frame has made numbers of the ids.
  @Test func numberWithAFractionIsNoUser() throws {
    let imported = try Imported(
      """
      id,identifier,device_type,external_user_id,amount_spent
      6a1f,\(ada),0,4711.0,0.0
      6a2f,\(ada),0,4.7E+12,0.0
      6a3f,\(ada),0,"4711.0",0.0
      6a4f,\(ben),0,4711,0.0

      """, .onesignal, .csv)
    expect(imported.devices, is: ["4711.0 a1 alert -", "4711 b2 alert -"])
    expect(
      imported.errors.map { $0.prefix(45) },
      is: [
        "2: external_user_id: '4711.0' is a number wit", "3: external_user_id: '4.7E+12' is a number th",
      ])
    expect(imported.errors.first?.contains("write 4711, or put the id in quotes"), is: true)
  }

  @Test func headerWithoutTokensIsRefused() throws {
    let error = #expect(throws: DeviceRowReader.FileError.self) {
      try Imported("external_user_id,language\nada,en\n", .onesignal, .csv)
    }
    expect(error?.description, is: "it has no column with tokens of onesignal: identifier")
  }

  @Test func brazeHasAllDevicesOfAUserOnALine() throws {
    let imported = try Imported(
      """
      {"external_id":"ada","braze_id":"5f1","first_name":"Ada","email":"ada@example.com","country":"DE","language":"de",\
      "time_zone":"Europe/Berlin","created_at":"2020-07-10 15:00:00.000 UTC","push_subscribe":"opted_in",\
      "custom_attributes":{"plan":"gold","teams":["a","b"],"address":{"city":"Berlin"},"locale":"de"},\
      "custom_events":[{"name":"x","count":3}],"devices":[{"model":"iPhone","os":"17"}],\
      "push_tokens":[{"app":"News","platform":"iOS","token":"\(ada)","device_id":"1","notifications_enabled":true},\
      {"app":"News","platform":"Android","token":"\(fcm)","device_id":"2","notifications_enabled":true},\
      {"app":"News","platform":"iOS","token":"\(ben)","device_id":"3"}]}
      {"braze_id":"5f2","push_tokens":[{"app":"News","platform":"iOS","token":"\(ben)"}],"time_zone":"Mars/Phobos"}
      {"external_id":"cleo","push_subscribe":"unsubscribed","push_tokens":[{"platform":"iOS","token":"\(ben)"}]}
      {"external_id":"dora","push_tokens":[]}
      {"external_id":"emil","push_tokens":"none"}

      """, .braze)
    expect(imported.devices, is: ["ada a1 alert -", "ada b2 alert -", "braze:5f2 b2 alert -"])
    expect(
      imported.rows.first?.attributes,
      is: ["plan": "gold", "teams": "a,b", "braze.locale": "de", "first_name": "Ada", "country": "DE"])
    expect(imported.rows.first?.timezone == "Europe/Berlin" && imported.rows.last?.timezone == nil)
    expect(imported.foreign.leftOut, is: ["Android": 1, "unsubscribed": 1, "no token": 1])
    expect(imported.foreign.unknown.isEmpty)
    let zone = try #require(imported.foreign.columns.first { $0.name == "time_zone" })
    expect(zone.unusable == 1 && zone.example == "Mars/Phobos")
    expect(imported.errors, is: ["5: push_tokens: must be a list, not a string"])
  }

  private static let pinpoint = """
    {"Id":"e1","ApplicationId":"f0","ChannelType":"APNS","Address":"\(ada)","EndpointStatus":"ACTIVE","OptOut":"NONE",\
    "RequestId":"r","EffectiveDate":"2026-11-01T10:11:12.345Z","CreationDate":"2024-03-01T08:00:00.000Z",\
    "CohortId":"7","Demographic":{"AppVersion":"5.2","Locale":"en_US","Make":"apple","Model":"iPhone",\
    "Platform":"ios","PlatformVersion":"17.4","Timezone":"America/New_York","Carrier":"X"},\
    "Location":{"Country":"US","Latitude":1.5},"Attributes":{"interests":["jazz","chess"]},"Metrics":{"age":41.0},\
    "User":{"UserId":"ada","UserAttributes":{"plan":["gold"]}}}
    {"Id":"e2","ChannelType":"APNS_VOIP_SANDBOX","Address":"\(ben)","User":{"UserId":"ada"}}
    {"Id":"e3","ChannelType":"APNS_SANDBOX","Address":"\(ben)"}
    {"Id":"e4","ChannelType":"GCM","Address":"\(fcm)","User":{"UserId":"ben"}}
    {"Id":"e5","ChannelType":"APNS","Address":"\(ben)","OptOut":"ALL","User":{"UserId":"cleo"}}
    {"Id":"e6","ChannelType":"APNS","Address":"\(ben)","EndpointStatus":"INACTIVE","User":{"UserId":"dora"}}
    {"Id":"e7","ChannelType":"EMAIL","Address":"ada@example.com","User":{"UserId":"ada"}}

    """

  @Test func pinpointSaysKindAndEnvironmentByTheChannel() throws {
    let imported = try Imported(Self.pinpoint, .pinpoint)
    expect(
      imported.devices, is: ["ada a1 alert production", "ada b2 voip sandbox", "pinpoint:e3 b2 alert sandbox"])
    let row = try #require(imported.rows.first)
    expect(row.attributes, is: ["interests": "jazz,chess", "age": "41.0", "plan": "gold", "country": "US"])
    expect(row.locale == "en-US" && row.osVersion == "17.4" && row.lastSeen == 1_793_527_872_345)
    expect(
      imported.foreign.leftOut, is: ["Android": 1, "opted out": 1, "inactive": 1, "e-mail": 1])
    expect(imported.foreign.unknown == ["Demographic.Carrier"] && imported.errors.isEmpty)
  }

  @Test func pinpointAsCSVHasPathsForColumns() throws {
    let imported = try Imported(
      """
      Id,ChannelType,Address,User.UserId,Demographic.Locale,Attributes.interests,User.UserAttributes.plan
      e1,APNS,\(ada),ada,en,jazz,gold

      """, .pinpoint, .csv)
    expect(imported.devices, is: ["ada a1 alert production"])
    expect(imported.rows.first?.attributes, is: ["interests": "jazz", "plan": "gold"])
  }

  @Test func firebaseFileHasTheAppsOwnRecords() throws {
    let imported = try Imported(
      """
      {"uid":"ada","token":"\(fcm)","apnsToken":"\(ada)","platform":"ios","timestamp":{"_seconds":1793527872,"_nanoseconds":5}}
      {"uid":"ben","fcmToken":"\(fcm)","platform":"iOS"}
      {"userId":"cleo","token":"\(ben)","createdAt":"2024-03-01"}
      {"uid":"dora","token":"\(fcm)","platform":"android"}
      {"token":"\(ben)"}
      {"registration_token":"\(fcm)","apns_token":"\(ben)","status":"OK","uid":"emil"}

      """, .firebase)
    expect(imported.devices, is: ["ada a1 alert -", "cleo b2 alert -", "emil b2 alert -"])
    expect(imported.rows.first?.lastSeen, is: 1_793_527_872_000)
    expect(imported.rows[1].registeredAt, is: 1_709_251_200_000)
    expect(
      imported.foreign.leftOut, is: ["an FCM token; only the app knows its APNs token": 1, "Android": 1])
    expect(imported.errors, is: ["5: user: is missing"])
  }

  /// An app gets the devices of its services.
  @Test(arguments: [
    ("news", ["ada apns a1", "onesignal:6a3f apns b2"], "Android"),
    ("both", ["ada apns a1", "ben fcm dG", "onesignal:6a3f apns b2"], nil), ("android", ["ben fcm dG"], "Apple"),
  ]) func appGetsTheDevicesOfItsServices(app: String, devices: [String], leftOut: String?) throws {
    let imported = try Imported(Self.onesignal, .onesignal, .csv, app: app)
    expect(
      imported.rows.map { row in
        "\(row.user) \(row.service) \(services[row.service]?.text(of: row.token).prefix(2) ?? "")"
      }, is: devices)
    expect((imported.foreign.leftOut["Android"] ?? imported.foreign.leftOut["Apple"] ?? 0) > 0 || leftOut == nil)
    if let leftOut { expect(imported.foreign.leftOut[leftOut] != nil) }
  }

  @Test func androidDevicesOfFirebaseAndGorushAreImported() throws {
    let firebase = try Imported(
      """
      {"uid":"ada","token":"\(fcm)","apnsToken":"\(ada)","platform":"ios"}
      {"uid":"dora","token":"\(fcm)","platform":"android"}
      {"platform":"Android","uid":"emil","fcm_token":"\(fcm)"}
      {"uid":"finn","token":"\(fcm)"}

      """, .firebase, app: "both")
    expect(firebase.rows.map { "\($0.user) \($0.service)" }, is: ["ada apns", "dora fcm", "emil fcm"])
    expect(firebase.foreign.leftOut, is: ["an FCM token; only the app knows its APNs token": 1])
    let gorush = try Imported(
      #"{"notifications":[{"tokens":["\#(ada)"],"platform":1},{"tokens":["\#(fcm)","x"],"platform":2}]}"# + "\n",
      .gorush, app: "both")
    expect(gorush.rows.map(\.service) == ["apns", "fcm"] && gorush.rows[1].user == fcm)
    expect(gorush.errors.count == 1 && gorush.foreign.leftOut.isEmpty)
  }

  @Test func gorushHasTokensOnly() throws {
    let imported = try Imported(
      """
      {"notifications":[{"tokens":["\(ada)","\(ben)"],"platform":1,"message":"Hi","topic":"com.example.news",\
      "production":true},{"tokens":["x","y"],"platform":2,"message":"Hi"}]}
      {"tokens":["\(ben)","oops"],"platform":1,"message":"Hi","development":true,"colour":"red"}

      """, .gorush)
    expect(
      imported.devices,
      is: [
        "\(ada) a1 alert production", "\(ben) b2 alert production", "\(ben) b2 alert sandbox",
      ])
    expect(imported.foreign.leftOut, is: ["Android": 2])
    expect(imported.foreign.unknown, is: ["colour"])
    expect(imported.errors, is: ["2: token: not hex of 1 to 200 bytes"])
  }

  @Test func recordsMayBeLargerThanOurs() throws {
    let events = (0..<2000).map { #"{"name":"event \#($0)","count":1}"# }.joined(separator: ",")
    let line =
      #"{"external_id":"ada","custom_events":[\#(events)],"push_tokens":[{"platform":"iOS","token":"\#(ada)"}]}"#
    expect(line.utf8.count > DeviceRowReader.maximumRecord)
    expect(try Imported(line, .braze).devices, is: ["ada a1 alert -"])
  }
}
