/// The push services that a job addresses.
enum JobServices {
  /// Returns the services of the job's app that the job addresses: those in `services`, or else all of them.
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

  /// Checks that a job has no object of a service that it does not address.
  ///
  /// - Parameters:
  ///   - services: the push services that the job addresses.
  ///   - known: names of all services in the configuration.
  static func checkObjects(
    of fields: JobFields, _ services: [any PushService], known: [String], app: String, _ apps: JobApps
  ) throws(JobError) {
    for name in known where fields.value(name) != nil && !services.contains(where: { $0.name == name }) {
      let isUsed = apps.services(of: app)?.contains { $0.name == name } == true
      throw fields.error(
        name,
        isUsed ? "services does not name this push service" : "app \(app) does not use the push service \(name)",
        hint: isUsed ? "add it to services, or remove this object" : "remove it")
    }
  }

  /// Checks that an audience without users addresses one service. A text can be a token of several services, and a
  /// channel belongs to one service.
  static func check(_ services: [any PushService], for audience: Audience, _ fields: JobFields) throws(JobError) {
    guard services.count > 1 else { return }
    let name: String
    switch audience {
    case .segment, .users, .campaign: return
    case .tokens: name = "tokens"
    case .activity: name = "activity"
    case .channel: name = "channel"
    }
    throw fields.error(
      "audience.\(name)", "belongs to one push service, and the app has \(services.count)",
      hint: "add the service, such as \"services\": [\"\(services[0].name)\"]")
  }
}
