/// JSON Schema of a job. The schema accepts every valid job, but also some invalid jobs: it does not contain the rules
/// of the app's push service, and it does not parse expressions, conditions and schedules.
public enum JobSchema {
  /// Returns the schema as a complete document.
  ///
  /// - Parameter services: the services of the program; a job may have an object for each.
  public static func document(_ services: [any PushService]) -> String {
    schema(services).replacing(
      "{", with: #"{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"A job of Carillon","#,
      maxReplacements: 1)
  }

  /// Returns the schema of a job. The schema contains no references, so it can be embedded in another document.
  static func schema(_ services: [any PushService]) -> String {
    let content = ["message", "template", "variants"] + services.map(\.name)
    let contentRule = "{\"anyOf\":[\(content.map(given).joined(separator: ","))]}"
    return job(audience: audience, services, ",\"allOf\":[\(([contentRule] + rules).joined(separator: ","))]")
  }

  /// Returns the schema without the rules for combinations of fields. Tools that generate clients or requests ignore
  /// these rules, so the documents for such tools use this schema.
  public static func outline(_ services: [any PushService]) -> String {
    let content = ["message", "template", "variants"] + services.map(\.name)
    return job(
      audience: object(audienceMembers(exclude: object(excludeMembers))), services,
      ",\"anyOf\":[\(content.map { "{\"required\":[\"\($0)\"]}" }.joined(separator: ","))]")
  }

  private static func job(audience: String, _ services: [any PushService], _ more: String) -> String {
    var properties = JobField.all.map { field in
      switch field.name {
      case "audience": "\"audience\":\(audience)"
      case "variants":
        "\"variants\":\(orNull(list(variant(services), least: 2, most: CampaignVariants.maximum)))"
      default: "\"\(field.name)\":\(field.schema)"
      }
    }.joined(separator: ",")
    properties += objects(of: services)
    return "{\"type\":\"object\",\"required\":[\"id\",\"app\",\"audience\"],\"additionalProperties\":false,"
      + "\"properties\":{\(properties)}\(more)}"
  }

  // MARK: Members. Null counts as missing, except in a required member.

  static let name = #"{"type":"string","pattern":"^[A-Za-z0-9._-]{1,64}$"}"#
  /// A user's id: white space at both ends is ignored, and a whole number is an id too, see ``UserID``.
  private static let user = any(
    #"{"type":"string","minLength":1,"pattern":"^[\\t\\n\\r]*[^\\u0000-\\u001f\\u007f]*[\\t\\n\\r]*$"}"#,
    #"{"type":"integer"}"#)
  /// A duration above 0.
  static let duration = #"{"type":"string","pattern":"^0*[1-9][0-9]*[smhd]$"}"#
  static let anyDuration = #"{"type":"string","pattern":"^[0-9]+[smhd]$"}"#
  static let instant = #"{"type":"string","pattern":"\#(wallPattern)([Zz]|[+-][0-9]{2}:[0-9]{2})$"}"#
  /// A local time.
  static let wall = #"{"type":"string","pattern":"\#(wallPattern)$"}"#
  private static let wallPattern =
    #"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?"#
  private static let clock = #"{"type":"string","pattern":"^[0-9]{1,2}:[0-9]{2}$"}"#
  static let text = #"{"type":"string"}"#
  static let someText = #"{"type":"string","minLength":1}"#
  static let flag = #"{"type":"boolean"}"#
  private static let share = #"{"type":"number","exclusiveMinimum":0,"maximum":1}"#
  static let realShare = #"{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}"#
  private static let null = #"{"type":"null"}"#

  static func words(_ words: [String]) -> String {
    "{\"enum\":[\(words.map { "\"\($0)\"" }.joined(separator: ","))]}"
  }

  static func list(_ element: String, least: Int = 1, most: Int? = nil) -> String {
    "{\"type\":\"array\",\"minItems\":\(least),\(most.map { "\"maxItems\":\($0)," } ?? "")\"items\":\(element)}"
  }

  static func any(_ schemas: String...) -> String { "{\"anyOf\":[\(schemas.joined(separator: ","))]}" }

  static func orNull(_ schema: String) -> String { any(schema, null) }

  /// Returns the schema of an object with these members.
  ///
  /// - Parameter more: further keywords of the schema, as JSON text.
  static func object(
    _ members: KeyValuePairs<String, String>, _ more: String = "", required: [String] = []
  ) -> String {
    let properties = members.map { "\"\($0)\":\(required.contains($0) ? $1 : orNull($1))" }.joined(separator: ",")
    return "{\"type\":\"object\",\"additionalProperties\":false,"
      + "\"required\":[\(required.map { "\"\($0)\"" }.joined(separator: ","))],\"properties\":{\(properties)}\(more)}"
  }

  private static let outcomes = {
    let one = words(Outcome.allCases.map(\.name))
    return any(one, list(one))
  }()

  private static let values =
    #"{"type":"object","additionalProperties":{"type":["string","number","boolean","null"]}}"#

  private static let recipient = any(user, object(["user": user, "vars": values], required: ["user"]))

  /// Entry for the only user of a list. If the entry has a `token`, only this device of the user gets the push.
  private static let deviceOfUser = object(
    ["user": user, "vars": values, "token": someText], required: ["user"])

  /// Entry that replaces an erased user or token.
  private static let erased = object(["erased": #"{"const":true}"#], required: ["erased"])

  /// Rule: `outcome` and `opened` select users of an earlier campaign, so they require `campaign`.
  private static let ofCampaign = when(any(given("outcome"), given("opened")), given("campaign"))

  private static let excludeMembers: KeyValuePairs = [
    "segment": text, "campaign": any(name, list(name, most: 16)), "activity": name, "outcome": outcomes,
    "opened": flag,
  ]

  private static func audienceMembers(exclude: String) -> KeyValuePairs<String, String> {
    [
      "segment": text, "users": any(list(any(recipient, erased)), list(deviceOfUser, most: 1)), "campaign": name,
      "activity": name,
      "tokens": list(any(someText, erased)),
      "channel": someText, "outcome": outcomes, "opened": flag, "where": text, "sample": share,
      "limit": #"{"type":"integer","minimum":1,"maximum":1000000000}"#,
      "devices": words(DeviceChoice.allCases.map(\.rawValue)), "exclude": exclude,
    ]
  }

  static let audience: String = {
    let one = ["segment", "users", "campaign", "activity", "tokens", "channel"].map(given).joined(separator: ",")
    let exclude = object(
      excludeMembers, ",\"allOf\":[\(any(given("segment"), given("campaign"), given("activity"))),\(ofCampaign)]")
    return object(
      audienceMembers(exclude: exclude),
      ",\"oneOf\":[\(one)],\"allOf\":[\(ofCampaign),"
        + when(namesNoUsers, absent(["where", "sample", "limit", "devices", "exclude"])) + "]")
  }()

  /// Returns the schema of a variant.
  private static func variant(_ services: [any PushService]) -> String {
    let schema = object(
      [
        "name": name, "weight": #"{"type":"number","exclusiveMinimum":0,"maximum":1000000}"#, "message": message,
        "localized": localized, "template": someText,
      ], required: ["name"])
    return schema.dropLast(2) + objects(of: services) + "}}"
  }

  /// Returns the members for the objects of services, with a comma before each.
  private static func objects(of services: [any PushService]) -> String {
    services.map { service in
      let members = service.jobFields.map { "\"\($0.name)\":\(orNull($0.schema))" }.joined(separator: ",")
      let schema = "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\(members)}}"
      return ",\"\(service.name)\":\(orNull(schema))"
    }.joined()
  }

  static let stage = object(
    [
      "users": list(any(user, erased), most: CampaignStages.maximumUsers), "share": realShare, "wait": anyDuration,
      "approval": flag,
      "maxFailures": #"{"type":"number","minimum":0,"maximum":1}"#, "minOpened": share,
      "winner": object([
        "by": words(CampaignVariants.Measure.allCases.map(\.rawValue)),
        "minimum": #"{"type":"integer","minimum":1,"maximum":1000000000}"#, "otherwise": name,
      ]),
    ], ",\"oneOf\":[\(given("users")),\(given("share"))]")

  static let message = object([
    "title": text, "body": text, "image": someText, "link": someText, "sound": someText,
    "badge": any(
      "{\"type\":\"integer\",\"minimum\":0,\"maximum\":\(CommonMessage.largestBadge)}",
      #"{"type":"string","pattern":"^[+][1-9][0-9]{0,3}$"}"#),
    "data": #"{"type":"object","additionalProperties":{"type":["string","null"]}}"#,
  ])

  static let localized = #"{"type":"object","additionalProperties":{"type":"object"}}"#

  static let collapseID =
    #"{"type":"string","minLength":1,"maxLength":64,"pattern":"^[^ \\u0000-\\u001f\\u007f]([^\\u0000-\\u001f\\u007f]*[^ \\u0000-\\u001f\\u007f])?$"}"#

  static let quietHours = object(
    ["from": clock, "to": clock, "then": words(["hold", "drop"])], required: ["from", "to"])

  static let repetition = object(
    [
      "cron": text, "zone": someText, "end": any(instant, wall),
      "count": #"{"type":"integer","minimum":1,"maximum":100000}"#, "skipIfRunning": flag,
    ], required: ["cron"])

  // MARK: Combinations of fields

  private static func given(_ name: String) -> String {
    "{\"required\":[\"\(name)\"],\"properties\":{\"\(name)\":{\"not\":\(null)}}}"
  }

  private static func absent(_ names: [String]) -> String {
    "{\"properties\":{\(names.map { "\"\($0)\":\(null)" }.joined(separator: ","))}}"
  }

  private static func when(_ condition: String, _ consequence: String) -> String {
    "{\"if\":\(condition),\"then\":\(consequence)}"
  }

  private static func notBoth(_ one: String, _ other: String) -> String {
    "{\"not\":{\"allOf\":[\(one),\(other)]}}"
  }

  private static func isTrue(_ name: String) -> String {
    "{\"required\":[\"\(name)\"],\"properties\":{\"\(name)\":{\"const\":true}}}"
  }

  private static func member(_ name: String, _ schema: String) -> String { "{\"properties\":{\"\(name)\":\(schema)}}" }

  /// Condition: the job uses the local time of each device.
  private static let isLocal =
    #"{"required":["localTime"],"properties":{"localTime":{"anyOf":[{"const":true},{"type":"object"}]}}}"#

  private static let namesNoUsers = any(given("tokens"), given("channel"))

  /// Returns the rule for `sendAt` and the end of `repeat`.
  private static func times(_ time: String) -> String {
    "{\"properties\":{\"sendAt\":\(orNull(time)),\"repeat\":\(member("end", orNull(time)))}}"
  }

  private static let rules: [String] = [
    notBoth(given("message"), given("template")),
    notBoth(given("rate"), given("spread")), notBoth(given("rate"), given("finishBy")),
    notBoth(given("spread"), given("finishBy")), notBoth(given("category"), isTrue("transactional")),
    notBoth(given("control"), isTrue("transactional")),
    when(member("audience", namesNoUsers), absent(["control", "stages", "quietHours", "variants"])),
    when(member("audience", namesNoUsers), "{\"not\":\(isLocal)}"),
    when(isLocal, any(given("sendAt"), given("repeat"))), notBoth(isLocal, given("spread")),
    "{\"if\":\(isLocal),\"then\":\(times(wall)),\"else\":\(times(instant))}",
    when(
      #"{"required":["also"],"properties":{"also":{"type":"array","minItems":1}}}"#,
      member("audience", "{\"allOf\":[{\"not\":\(namesNoUsers)},\(absent(["limit"]))]}")
    ),
    when(given("stages"), member("audience", absent(["limit"]))),
    when(given("late"), any(isLocal, given("sendAt"))), when(given("late"), any(isLocal, absent(["repeat"]))),
    when(given("defaultTimezone"), any(isLocal, given("quietHours"))),
    notBoth(given("repeat"), given("finishBy")),
    when(given("repeat"), member("expiration", "{\"not\":\(instant)}")),
    notBoth(isLocal, "{\"required\":[\"repeat\"],\(member("repeat", given("zone")).dropFirst())"),
  ]
}
