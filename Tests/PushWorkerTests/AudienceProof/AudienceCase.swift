import PushCore

/// One campaign of the proof: its job and its expected audience, without a parser, a Redis set or a cursor.
struct AudienceCase: Sendable {
  typealias Person = AudienceBase.Person
  typealias Device = AudienceBase.Device

  /// The id of the case, and of its campaign.
  let id: String
  /// The job's audience.
  let audience: String
  /// More fields of the job.
  var more = ""
  /// Whether the audience contains a user, before conditions on devices and random selection.
  var means: @Sendable (Person) -> Bool = { _ in true }
  /// Whether the audience contains a user before exclusions; `nil` if there are none.
  var selects: (@Sendable (Person) -> Bool)?
  /// The matching devices. No device is quarantined.
  var on: @Sendable (Device, Person) -> Bool = { _, _ in true }
  var sample: Double?
  var limit: Int?
  var isLatest = false
  var control: Double?
  var isTransactional = false
  var category: String?
  /// Users who get the push regardless of random selection.
  var testers: Set<String> = []
  /// The weights of its variants.
  var weights: [Double] = []
  /// The share of users in the stage that determines the winner. The others get the winner.
  var tested: Double?

  /// The fields that the cases cover are in `Tests/Pages/fields.md`.
  static func all(users: Int) -> [AudienceCase] {
    let listed = stride(from: 0, to: users, by: 7).map { "user-\($0)" }
    return segments + conditions + choices(users) + [
      AudienceCase(
        id: "listed", audience: "{\"users\":[\(listed.map { "\"\($0)\"" }.joined(separator: ",")),\"nobody\"]}",
        means: { person in Int(person.user.dropFirst(5)).map { $0 % 7 == 0 } ?? false })
    ]
  }

  private static let segments = [
    AudienceCase(id: "everybody", audience: #"{"segment":"*"}"#),
    AudienceCase(
      id: "algebra", audience: #"{"segment":"vip & (sports | news) & !churned"}"#,
      means: {
        $0.segments.contains("vip") && !$0.segments.contains("churned")
          && ($0.segments.contains("sports") || $0.segments.contains("news"))
      }),
    AudienceCase(
      id: "negated", audience: #"{"segment":"!(vip | !news) | sports & churned"}"#,
      means: {
        !$0.segments.contains("vip") && $0.segments.contains("news")
          || $0.segments.isSuperset(of: ["sports", "churned"])
      }),
    // `fans` is `sports & !churned`, `recent` is all users with a device seen within 30 days, and `elders` is
    // `fans & !recent` where age >= 50.
    AudienceCase(
      id: "defined", audience: #"{"segment":"elders | vip & recent"}"#,
      means: { isElder($0) || $0.segments.contains("vip") && isRecent($0) }),
    AudienceCase(
      id: "excluded", audience: #"{"segment":"news","exclude":{"segment":"vip | recent"}}"#,
      means: { $0.segments.contains("news") && !$0.segments.contains("vip") && !isRecent($0) },
      selects: { $0.segments.contains("news") }),
    AudienceCase(id: "suppressed", audience: #"{"segment":"*"}"#, more: #","category":"offers""#, category: "offers"),
    AudienceCase(
      id: "transactional", audience: #"{"segment":"vip"}"#, more: #","transactional":true"#,
      means: { $0.segments.contains("vip") }, isTransactional: true),
  ]

  private static func isRecent(_ person: Person) -> Bool { person.devices.contains { ($0.daysUnseen ?? 999) < 30 } }

  private static func isElder(_ person: Person) -> Bool {
    person.segments.contains("sports") && !person.segments.contains("churned") && !isRecent(person)
      && (person.age ?? 0) >= 50
  }

  /// Conditions, and the same conditions for a device and its user in Swift.
  private static let texts: [(String, @Sendable (Device, Person) -> Bool)] = [
    ("locale = 'en'", { device, _ in device.locale.hasPrefix("en") }),
    ("locale != 'en'", { device, _ in !device.locale.isEmpty && !device.locale.hasPrefix("en") }),
    ("!(locale = 'en')", { device, _ in !device.locale.hasPrefix("en") }),
    ("locale in ('fr', 'de')", { device, _ in device.locale == "fr" || device.locale == "de-DE" }),
    (
      "timezone prefix 'Europe/' & locale exists",
      { device, _ in device.timezone == "Europe/Berlin" && !device.locale.isEmpty }
    ),
    ("appVersion >= '5.10'", { device, _ in ["5.10.1", "6.0-beta"].contains(device.version) }),
    ("appVersion < '5.10'", { device, _ in ["4.9", "5.2"].contains(device.version) }),
    ("lastSeen < 30d", { device, _ in (device.daysUnseen ?? 999) < 30 }),
    ("lastSeen >= 30d | !(lastSeen exists)", { device, _ in (device.daysUnseen ?? 999) > 30 }),
    ("registeredAt > 200d", { device, _ in device.daysRegistered > 200 }),
    ("plan = 'gold'", { _, person in person.plan == "gold" }),
    ("plan prefix 'gold'", { _, person in person.plan?.hasPrefix("gold") == true }),
    ("age >= 18 & age < 65", { _, person in (person.age ?? 0) >= 18 && (person.age ?? 99) < 65 }),
    ("!(age exists)", { _, person in person.age == nil }),
    ("tags = 'a' & !(tags = 'b')", { _, person in person.tags.contains("a") && !person.tags.contains("b") }),
    (
      "locale = 'en' & appVersion >= '5.2' & (plan = 'gold' | age >= 18) & lastSeen < 60d",
      { device, person in
        device.locale.hasPrefix("en") && ["5.2", "5.10.1", "6.0-beta"].contains(device.version)
          && (person.plan == "gold" || (person.age ?? 0) >= 18) && (device.daysUnseen ?? 999) < 60
      }
    ),
  ]

  private static let conditions = texts.enumerated().map { number, condition in
    AudienceCase(
      id: "where-\(number)", audience: "{\"segment\":\"vip | sports\",\"where\":\"\(condition.0)\"}",
      means: { !$0.segments.isDisjoint(with: ["vip", "sports"]) }, on: condition.1)
  }

  private static func choices(_ users: Int) -> [AudienceCase] {
    [
      AudienceCase(id: "sampled", audience: #"{"segment":"*","sample":0.3}"#, sample: 0.3),
      AudienceCase(
        id: "latest", audience: #"{"segment":"news","devices":"latest","where":"locale exists"}"#,
        means: { $0.segments.contains("news") }, on: { device, _ in !device.locale.isEmpty }, isLatest: true),
      AudienceCase(
        id: "limited", audience: "{\"segment\":\"*\",\"limit\":\(users / 10)}", limit: users / 10),
      AudienceCase(
        id: "unlimited", audience: "{\"segment\":\"vip\",\"limit\":\(users * 2)}",
        means: { $0.segments.contains("vip") }, limit: users * 2),
      AudienceCase(
        id: "controlled", audience: #"{"segment":"sports"}"#, more: #","control":0.2"#,
        means: { $0.segments.contains("sports") }, control: 0.2),
      AudienceCase(
        id: "tested", audience: #"{"segment":"news","sample":0.5}"#,
        more: #","control":0.1,"stages":[{"users":["user-1","user-2","user-3","user-4","user-5"],"wait":"1s"}]"#,
        means: { $0.segments.contains("news") }, sample: 0.5, control: 0.1,
        testers: ["user-1", "user-2", "user-3", "user-4", "user-5"]),
      AudienceCase(
        id: "told", audience: "{\"segment\":\"news\",\"limit\":\(users / 4)}",
        more:
          #","control":0.1,"variants":[{"name":"a","weight":1},{"name":"b","weight":2.5,"apns":{"payload":{"n":1}}},"#
          + #"{"name":"c","weight":0.5,"apns":{"payload":{"n":2}}}]"#,
        means: { $0.segments.contains("news") }, limit: users / 4, control: 0.1, weights: [1, 2.5, 0.5]),
      AudienceCase(
        id: "told-the-best", audience: #"{"segment":"sports"}"#,
        more: #","variants":[{"name":"a"},{"name":"b","apns":{"payload":{"n":1}}}],"#
          + #""stages":[{"share":0.3,"winner":{"by":"accepted","minimum":1,"otherwise":"a"}}]"#,
        means: { $0.segments.contains("sports") }, weights: [1, 1], tested: 0.3),
      AudienceCase(
        id: "all-at-once",
        audience: "{\"segment\":\"vip | fans\",\"where\":\"locale exists & lastSeen < 90d\",\"sample\":0.7,"
          + "\"limit\":\(users / 20),\"devices\":\"latest\",\"exclude\":{\"segment\":\"churned\"}}",
        more: #","control":0.25,"category":"offers""#,
        means: {
          ($0.segments.contains("vip") || $0.segments.contains("sports")) && !$0.segments.contains("churned")
        },
        selects: { person in
          // `fans` have not churned.
          person.segments.contains("vip") || person.segments.contains("sports") && !person.segments.contains("churned")
        }, on: { device, _ in !device.locale.isEmpty && (device.daysUnseen ?? 999) < 90 }, sample: 0.7,
        limit: users / 20, isLatest: true, control: 0.25, category: "offers"),
    ]
  }
}
