/// Parser of the `audience` of a job, with its rules.
struct JobAudience {
  /// Users, tokens or channel of the audience.
  var audience: Audience
  /// Condition on the devices; `nil` for all devices.
  var predicate: DevicePredicate?
  /// Sample of the users; `nil` for all.
  var sample: UserSample?
  /// Maximum number of users, the most recently seen first; `nil` for all.
  var limit: Int?
  /// The only device that gets the push; `nil` for all devices.
  var token: DeviceToken?
  /// Choice of each user's devices.
  var devices = DeviceChoice.all
  /// Users that are excluded.
  var exclusion = AudienceExclusion()
  /// Values that the job contains for its users, by user. Each is an object without white space.
  var values: [String: [UInt8]] = [:]

  private static let fields = ["segment", "users", "campaign", "activity", "tokens", "channel"]
  /// Fields that restrict the users.
  private static let conditions = ["where", "sample", "limit", "devices", "exclude"]
  /// Fields that select users by the results of an earlier campaign.
  private static let ofCampaign = ["outcome", "opened"]
  /// Maximum value of `limit`, more than the number of users in any store.
  private static let maximumUsers = 1_000_000_000
  /// Maximum number of campaigns that one job excludes. A worker reads the results of each of them in every partition.
  private static let maximumExcluded = 16

  /// - Parameters:
  ///   - bytes: the text that contains `value`.
  ///   - service: the push service of a list of tokens.
  ///   - id: the id of the campaign.
  init(
    _ value: JSONValue, in bytes: [UInt8], of service: any PushService, campaign id: String, path: String
  ) throws(JobError) {
    let fields = try JobFields(
      value, path: path, known: Self.fields + Self.ofCampaign + Self.conditions, planned: [])
    let recipients = try JobRecipient.all(fields)
    audience = try Self.read(fields, recipients, of: service, path: path)
    values = try JobRecipient.values(of: recipients ?? [], fields, in: bytes)
    token = try Self.readToken(of: recipients ?? [], service, fields)
    try Self.refuseWithoutCampaign(fields)
    for name in Self.conditions where fields.value(name) != nil {
      switch audience {
      case .segment, .users, .campaign, .activity: break
      case .tokens, .channel:
        throw fields.error(
          name, "needs an audience of users: data of a device is stored with its user",
          hint: "give a segment or users instead")
      }
    }
    predicate = try Self.readPredicate(fields)
    sample = try Self.readSample(fields, id)
    limit = try Self.readLimit(fields)
    devices = try fields.choice("devices", default: .all)
    if let excluded = fields.value("exclude") {
      exclusion = try Self.readExclusion(excluded, path: fields.path("exclude"))
    }
    var earlier = exclusion.campaigns
    if case .campaign(let base) = audience { earlier.append(base) }
    if earlier.contains(where: { $0.campaign == id }) {
      throw JobError(field: path, message: "names the campaign itself", hint: "refer to an ended campaign")
    }
  }

  private static func readExclusion(_ value: JSONValue, path: String) throws(JobError) -> AudienceExclusion {
    let fields = try JobFields(value, path: path, known: ["segment", "campaign", "activity"] + ofCampaign, planned: [])
    var exclusion = AudienceExclusion()
    if let text = try fields.string("segment") { exclusion.segment = try readExpression(text, fields) }
    if let ids = try fields.stringOrStrings("campaign") {
      guard 1...maximumExcluded ~= ids.count else {
        throw fields.error("campaign", "names \(ids.count) campaigns", hint: "name 1 to \(maximumExcluded)")
      }
      for id in ids { exclusion.campaigns.append(try earlier(id, fields)) }
    }
    exclusion.activity = try readActivity(fields)
    try refuseWithoutCampaign(fields)
    guard !exclusion.isEmpty else {
      throw JobError(field: path, message: "is empty", hint: "add segment, campaign or activity")
    }
    return exclusion
  }

  private static func readActivity(_ fields: JobFields) throws(JobError) -> String? {
    guard let name = try fields.string("activity") else { return nil }
    guard PlainName.isValid(name) else {
      throw fields.error(
        "activity", "\(Excerpt.quoted(name)) is not a valid name of a Live Activity",
        hint: "it must be \(PlainName.form)")
    }
    return name
  }

  private static func refuseWithoutCampaign(_ fields: JobFields) throws(JobError) {
    guard fields.value("campaign") == nil, let name = ofCampaign.first(where: { fields.value($0) != nil }) else {
      return
    }
    throw fields.error(name, "has no effect without campaign", hint: "omit it, or add campaign")
  }

  private static func earlier(_ id: String, _ fields: JobFields) throws(JobError) -> EarlierAudience {
    guard CampaignID.isValid(id) else {
      throw fields.error(
        "campaign", "\(Excerpt.quoted(id)) is not a campaign id", hint: "it must be \(CampaignID.form)")
    }
    return EarlierAudience(
      campaign: id, outcomes: try readOutcomes(fields),
      opened: fields.value("opened") == nil ? nil : try fields.flag("opened"))
  }

  private static func readOutcomes(_ fields: JobFields) throws(JobError) -> [Outcome] {
    guard let names = try fields.stringOrStrings("outcome") else { return EarlierAudience.reached }
    guard !names.isEmpty else { throw fields.error("outcome", "is empty", hint: "omit it, or add an outcome") }
    var outcomes: [Outcome] = []
    for name in names {
      guard let outcome = Outcome(name: name) else {
        throw fields.error(
          "outcome", "\(Excerpt.quoted(name)) is not an outcome",
          hint: Nearest.hint(name, among: Outcome.allCases.map(\.name)))
      }
      outcomes.append(outcome)
    }
    return outcomes
  }

  private static func readPredicate(_ fields: JobFields) throws(JobError) -> DevicePredicate? {
    guard let text = try fields.string("where") else { return nil }
    do {
      return try DevicePredicate(parsing: text)
    } catch {
      throw fields.error("where", "\(error)", hint: "a condition looks like: locale = 'en' & appVersion >= '5.2'")
    }
  }

  private static func readSample(_ fields: JobFields, _ id: String) throws(JobError) -> UserSample? {
    guard let value = fields.value("sample") else { return nil }
    guard case .number(let text) = value.kind, let share = Double(text), share > 0, share <= 1 else {
      throw fields.error("sample", "must be a number above 0, and 1 at most", hint: "0.1 is a tenth of the users")
    }
    return share == 1 ? nil : UserSample(share: share, salt: id)
  }

  private static func readLimit(_ fields: JobFields) throws(JobError) -> Int? {
    guard let value = fields.value("limit") else { return nil }
    guard case .number(let text) = value.kind, let limit = Int(text), 1...maximumUsers ~= limit else {
      throw fields.error(
        "limit", "must be a whole number of users, 1 or more", hint: "omit it for all users; sample selects a share")
    }
    return limit
  }

  private static func read(
    _ fields: JobFields, _ recipients: [JobRecipient]?, of service: any PushService, path: String
  ) throws(JobError) -> Audience {
    let given = Self.fields.filter { fields.value($0) != nil }
    guard given.count == 1 else {
      throw JobError(
        field: path,
        message: given.isEmpty ? "is empty" : "has " + given.joined(separator: " and ") + " together",
        hint: "use exactly one of " + Self.fields.joined(separator: ", "))
    }
    if let text = try fields.string("segment") { return .segment(try readExpression(text, fields)) }
    if let recipients { return .users(try readUsers(recipients.map(\.user), fields)) }
    if let id = try fields.string("campaign") {
      return .campaign(try earlier(id, fields))
    }
    if let activity = try readActivity(fields) { return .activity(activity) }
    if let channel = try fields.string("channel") {
      if let problem = service.problem(ofChannel: channel) {
        throw fields.error("channel", problem, hint: "copy it from `carillon channel list`")
      }
      return .channel(channel)
    }
    return .tokens(try readTokens(try fields.strings("tokens", skipsErased: true) ?? [], of: service, fields))
  }

  /// Returns whether the users and tokens of an audience are at the places that the format defines. The audience may be
  /// invalid in other ways.
  static func hasKnownForm(_ audience: JSONValue?) -> Bool {
    guard case .object(let members)? = audience?.kind else { return false }
    return members.contains { fields.contains($0.name) }
      && members.allSatisfy { member in
        switch (member.name, member.value.kind) {
        case ("users", .array(let users)): users.allSatisfy(JobRecipient.hasUser)
        case ("tokens", .array(let tokens)): tokens.allSatisfy(hasToken)
        case ("users", _), ("tokens", _): false
        case (let name, _): (fields + ofCampaign + conditions).contains(name)
        }
      }
  }

  private static func hasToken(_ element: JSONValue) -> Bool {
    if case .string = element.kind { true } else { element.isErasedEntry }
  }

  private static func readExpression(_ text: String, _ fields: JobFields) throws(JobError) -> AudienceExpression {
    do {
      return try AudienceExpression(parsing: text)
    } catch {
      throw fields.error("segment", "\(error)", hint: "an expression looks like: vip & (sports | news) & !churned")
    }
  }

  /// Returns the users, each once, in the order of the list.
  private static func readUsers(_ users: [String], _ fields: JobFields) throws(JobError) -> [String] {
    guard !users.isEmpty || fields.hasErasedEntries("users") else { throw fields.error("users", "is empty") }
    return unique(users)
  }

  /// Returns the only device that gets the push, if a recipient names a token. Error messages are logged, so they do
  /// not contain the token.
  private static func readToken(
    of recipients: [JobRecipient], _ service: any PushService, _ fields: JobFields
  ) throws(JobError) -> DeviceToken? {
    guard let index = recipients.firstIndex(where: { $0.token != nil }), let text = recipients[index].token else {
      return nil
    }
    guard recipients.count == 1 else {
      throw fields.error(
        "users[\(index)].token", "needs a list of one user, but the list has \(recipients.count)",
        hint: "submit a job for each device")
    }
    guard let token = service.token(text) else {
      throw fields.error("users[0].token", "is not a device token", hint: "a token is \(service.tokenForm)")
    }
    return token
  }

  /// Returns the tokens, each once, in the order of the list. Error messages are logged, so they contain the index and
  /// not the token.
  private static func readTokens(
    _ texts: [String], of service: any PushService, _ fields: JobFields
  ) throws(JobError) -> [DeviceToken] {
    guard !texts.isEmpty || fields.hasErasedEntries("tokens") else { throw fields.error("tokens", "is empty") }
    var tokens: [DeviceToken] = []
    tokens.reserveCapacity(texts.count)
    for (index, text) in texts.enumerated() {
      guard let token = service.token(text) else {
        throw fields.error("tokens[\(index)]", "is not a device token", hint: "a token is \(service.tokenForm)")
      }
      tokens.append(token)
    }
    return unique(tokens)
  }

  private static func unique<Element: Hashable>(_ elements: [Element]) -> [Element] {
    var seen: Set<Element> = []
    seen.reserveCapacity(elements.count)
    return elements.filter { seen.insert($0).inserted }
  }
}
