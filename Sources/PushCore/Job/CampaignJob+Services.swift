/// Push services of a job.
extension CampaignJob {
  /// Fields that were fields of the job itself before each service had an object of its own.
  private static let moved = ["payload", "pushType", "priority"]

  /// Throws an error for a field that has moved into the object of a service. The error contains the new place.
  static func refuseMoved(_ root: JSONValue, _ apps: JobApps) throws(JobError) {
    guard case .object(let members) = root.kind else { return }
    var services = apps.allServices
    if case .string(let app)? = members.value("app")?.kind { services = apps.services(of: app) ?? services }
    try refuseMoved(members, path: "", services)
    guard case .array(let variants)? = members.value("variants")?.kind else { return }
    for (index, variant) in variants.enumerated() {
      guard case .object(let members) = variant.kind else { continue }
      try refuseMoved(members, path: "variants[\(index)].", services)
    }
  }

  /// Throws an error for a moved field in an object of a job, or in a template.
  static func refuseMoved(
    _ members: [JSONValue.Member], path: String, _ services: [any PushService]
  ) throws(JobError) {
    for name in moved {
      guard members.value(name) != nil else { continue }
      let places = services.compactMap { service -> String? in
        let field = name == "payload" ? service.payloadField : name
        guard service.jobFields.contains(where: { $0.name == field }) else { return nil }
        return #"{"\#(service.name)":{"\#(field)":…}}"#
      }
      throw JobError(
        field: path + name, message: "moved into the object of a push service",
        hint: "write " + (places.isEmpty ? "urgency" : places.joined(separator: " or ")))
    }
  }

  /// Returns whether a member of a job is the object of a push service. All other members are fields of the job.
  public static func isServiceObject(_ name: String) -> Bool { !fields.contains(name) }
}

/// Content of a job for one service, read as far as it is valid. The rules of a service use it, because they also check
/// jobs with errors in other fields.
public struct JobContent {
  /// The service's own object, with that of the template; without fields for none.
  public let own: JobFields
  /// Payload of the service's own object; `nil` for none.
  public let payload: JSONValue?
  /// Common message; `nil` for none, and for an invalid one.
  public let message: CommonMessage?
  /// Common urgency; `nil` for none.
  public let urgency: Urgency?

  /// - Parameter job: the members of a job, or of a template. With variants, the content is that of the first one.
  public init(of job: [JSONValue.Member], for service: any PushService) {
    let fields = JobFields(job)
    let variants = (try? JobVariants.members(of: fields, services: nil)) ?? []
    var own = Self.own(fields, service)
    var message = Self.value("message", fields)
    if let first = variants.first?.fields {
      own = Self.own(first, service).map { MergePatch.apply($0, to: own) } ?? own
      message = Self.value("message", first).map { MergePatch.apply($0, to: message) } ?? message
    }
    if case .object(let members)? = own?.kind {
      self.own = JobFields(members, path: service.name)
    } else {
      self.own = JobFields([], path: service.name)
    }
    payload = self.own.value(service.payloadField)
    self.message = message.flatMap { value in
      try? CommonMessage(MergePatch.apply(value, to: nil)) { (_, name) in "message." + name }
    }
    urgency = (try? fields.optionalChoice("urgency")) ?? nil
  }

  private static func value(_ name: String, _ fields: JobFields) -> JSONValue? {
    if case .object(let template)? = fields.value("template")?.kind { return template.value(name) }
    return fields.value(name)
  }

  private static func own(_ fields: JobFields, _ service: any PushService) -> JSONValue? {
    let own = fields.value(service.name)
    guard case .object(let template)? = fields.value("template")?.kind, let base = template.value(service.name) else {
      return own
    }
    return own.map { MergePatch.apply($0, to: base) } ?? base
  }
}
