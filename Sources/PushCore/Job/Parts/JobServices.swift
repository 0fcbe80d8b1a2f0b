/// Selection and checks of the push services that a job addresses.
enum JobServices {
  /// Returns the services of the job's app that the job addresses: the services in `services` of the job, or all
  /// services of the app if the field is missing.
  ///
  /// - Throws: an error for an unknown app, and for a service that the app does not use.
  static func read(_ fields: JobFields, _ apps: JobApps) throws(JobError) -> (app: String, services: [any PushService])
  {
    let app = try fields.requiredString("app")
    guard let all = apps.services(of: app), !all.isEmpty else {
      throw fields.error(
        "app", "no app \(Excerpt.quoted(app)) in the configuration", hint: Nearest.hint(app, among: apps.names))
    }
    guard let names = try fields.strings("services") else { return (app, all) }
    guard !names.isEmpty else {
      throw fields.error("services", "is empty", hint: "name a push service, or omit it for all services of the app")
    }
    for (index, name) in names.enumerated() {
      guard all.contains(where: { $0.name == name }) else {
        throw fields.error(
          "services[\(index)]", "app \(app) does not use the push service \(Excerpt.quoted(name))",
          hint: Nearest.hint(name, among: all.map(\.name)))
      }
      guard names.firstIndex(of: name) == index else {
        throw fields.error("services[\(index)]", "is listed twice", hint: "remove one of them")
      }
    }
    return (app, all.filter { names.contains($0.name) })
  }

  /// Checks that a job has no object of a service that it does not address. The check includes variants and languages.
  ///
  /// - Parameters:
  ///   - services: the push services that the job addresses.
  ///   - known: names of all services in the configuration.
  static func checkObjects(
    of fields: JobFields, _ services: [any PushService], known: [String], app: String, _ apps: JobApps
  ) throws(JobError) {
    let others = known.filter { name in !services.contains { $0.name == name } }
    guard !others.isEmpty else { return }
    var objects = [fields] + languages(of: fields)
    if case .array(let variants)? = fields.value("variants")?.kind {
      for (index, variant) in variants.enumerated() {
        guard case .object(let members) = variant.kind else { continue }
        let variant = JobFields(members, path: fields.path("variants[\(index)]"))
        objects += [variant] + languages(of: variant)
      }
    }
    for object in objects {
      for name in others where object.value(name) != nil {
        let isUsed = apps.services(of: app)?.contains { $0.name == name } == true
        throw object.error(
          name,
          isUsed ? "services does not name this push service" : "app \(app) does not use the push service \(name)",
          hint: isUsed ? "add \(name) to services, or remove this object" : "remove it")
      }
    }
  }

  /// Returns the changes for each language in a job or variant.
  private static func languages(of fields: JobFields) -> [JobFields] {
    guard case .object(let languages)? = fields.value("localized")?.kind else { return [] }
    return languages.compactMap { language in
      guard case .object(let members) = language.value.kind else { return nil }
      return JobFields(members, path: fields.path("localized." + Excerpt.bare(language.name)))
    }
  }

  /// Checks that a job addresses only one service if its audience does not consist of users. A text can be a valid
  /// token of several services, and a channel or an activity belongs to one service.
  ///
  /// - Parameter value: the audience as JSON. This check runs before the audience is parsed, because the service
  ///   determines how tokens and channels are parsed.
  static func check(_ services: [any PushService], for value: JSONValue, _ fields: JobFields) throws(JobError) {
    guard services.count > 1, case .object(let members) = value.kind else { return }
    let audience = JobFields(members, path: fields.path("audience"))
    let recipient = try JobRecipient.all(audience)?.first
    let others = ["tokens", "activity", "channel"].first { audience.value($0) != nil }
    guard let name = recipient?.token == nil ? others : "users[0].token" else { return }
    var fitting = services
    switch name {
    case "users[0].token":
      fitting = services.filter { service in recipient?.token.map { service.token($0) != nil } ?? false }
      if fitting.isEmpty { fitting = services }
    case "tokens": fitting = try owners(services, ofTokensIn: audience)
    case "channel":
      guard let channel = try audience.string("channel") else { break }
      fitting = services.filter { $0.problem(ofChannel: channel) == nil }
      if fitting.isEmpty { fitting = services }
    default: break
    }
    let names = fitting.map { "\"services\": [\"\($0.name)\"]" }.joined(separator: " or ")
    throw audience.error(
      name, "belongs to one push service, and the job addresses \(services.count)", hint: "add \(names)")
  }

  /// Returns the services that accept all tokens of an audience.
  ///
  /// - Throws: an error for a text that no service accepts as a token, and if no single service accepts all tokens.
  private static func owners(
    _ services: [any PushService], ofTokensIn audience: JobFields
  ) throws(JobError) -> [any PushService] {
    var fitting = services
    for (index, token) in (try audience.strings("tokens", skipsErased: true) ?? []).enumerated() {
      let owners = services.filter { $0.token(token) != nil }
      guard !owners.isEmpty else {
        let forms = services.map { "\($0.tokenForm) for \($0.title)" }
        throw audience.error(
          "tokens[\(index)]", "is not a device token", hint: "a token is \(forms.joined(separator: ", "))")
      }
      fitting.removeAll { service in !owners.contains { $0.name == service.name } }
      guard !fitting.isEmpty else {
        throw audience.error(
          "tokens[\(index)]", "is a token of \(owners[0].title), unlike the tokens before it",
          hint: "write a job for each push service, with its tokens and \"services\": [\"\(owners[0].name)\"]")
      }
    }
    return fitting
  }
}
