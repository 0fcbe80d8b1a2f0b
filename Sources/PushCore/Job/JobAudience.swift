/// The rules for the `audience` of a job.
enum JobAudience {
  private static let fields = ["segment", "users", "tokens", "channel"]
  private static let plannedFields: Set = ["campaign", "where", "limit", "sample"]

  /// - Parameter service: what a list of tokens is of.
  static func read(
    _ value: JSONValue, of service: any PushService, path: String
  ) throws(JobError) -> Audience {
    let fields = try JobFields(value, path: path, known: fields, planned: plannedFields)
    let given = Self.fields.filter { fields.value($0) != nil }
    guard given.count == 1 else {
      throw JobError(
        field: path,
        message: given.isEmpty ? "names nobody" : "has " + given.joined(separator: " and ") + " at once",
        hint: "give exactly one of " + Self.fields.joined(separator: ", "))
    }
    if let text = try fields.string("segment") { return .segment(try readExpression(text, fields)) }
    if let users = try fields.strings("users") { return .users(try readUsers(users, fields)) }
    if let channel = try fields.string("channel") {
      if let problem = service.problem(ofChannel: channel) {
        throw fields.error("channel", problem, hint: "take it as `carillon channel list` prints it")
      }
      return .channel(channel)
    }
    return .tokens(try readTokens(try fields.strings("tokens") ?? [], of: service, fields))
  }

  private static func readExpression(_ text: String, _ fields: JobFields) throws(JobError) -> AudienceExpression {
    do {
      return try AudienceExpression(parsing: text)
    } catch {
      throw fields.error("segment", "\(error)", hint: "an expression looks like: vip & (sports | news) & !churned")
    }
  }

  /// The users, each once, in their order.
  private static func readUsers(_ users: [String], _ fields: JobFields) throws(JobError) -> [String] {
    guard !users.isEmpty else { throw fields.error("users", "is empty") }
    for (index, user) in users.enumerated() {
      if let problem = UserID.problem(user) { throw fields.error("users[\(index)]", problem) }
    }
    return unique(users)
  }

  /// The tokens, each once, in their order. Messages name the index, not the token: they end up in logs.
  private static func readTokens(
    _ texts: [String], of service: any PushService, _ fields: JobFields
  ) throws(JobError) -> [DeviceToken] {
    guard !texts.isEmpty else { throw fields.error("tokens", "is empty") }
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
