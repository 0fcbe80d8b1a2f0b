/// Push services of a job.
extension CampaignJob {
  /// Fields that belong to the object of a service, but belonged to the job itself in earlier versions.
  private static let moved = ["payload", "pushType", "priority"]

  /// Returns an error for each field of a job or template that has moved into the object of a service. Each error
  /// contains the new place.
  public static func movedFields(of root: JSONValue, _ apps: JobApps) -> [JobError] {
    guard case .object(let members) = root.kind else { return [] }
    var services = apps.allServices
    if case .string(let app)? = members.value("app")?.kind { services = apps.services(of: app) ?? services }
    var errors = movedFields(of: members, path: "", services)
    guard case .array(let variants)? = members.value("variants")?.kind else { return errors }
    for (index, variant) in variants.enumerated() {
      guard case .object(let members) = variant.kind else { continue }
      errors += movedFields(of: members, path: "variants[\(index)].", services)
    }
    return errors
  }

  /// Throws the error for the first field that has moved. The error message also names the other fields.
  static func refuse(moved errors: [JobError]) throws(JobError) {
    guard var error = errors.first else { return }
    // The number of fields is limited, because an error message has one line.
    let others = errors.dropFirst().prefix(maximumMoved).map(\.field)
    if !others.isEmpty {
      error.message += ", as did \(others.joined(separator: ", "))" + (errors.count - 1 > others.count ? ", …" : "")
    }
    throw error
  }

  /// Maximum number of other moved fields that an error names: enough for the fields of the job itself and of one
  /// variant.
  private static let maximumMoved = 5

  private static func movedFields(
    of members: [JSONValue.Member], path: String, _ services: [any PushService]
  ) -> [JobError] {
    moved.filter { members.value($0) != nil }.map { name in
      let places = services.compactMap { service -> String? in
        let field = name == "payload" ? service.payloadField : name
        guard service.jobFields.contains(where: { $0.name == field }) else { return nil }
        return #"{"\#(service.name)":{"\#(field)":…}}"#
      }
      return JobError(
        field: path + name, message: "moved into the object of a push service",
        hint: "write " + (places.isEmpty ? "urgency" : places.joined(separator: " or ")))
    }
  }

  /// Returns whether a member of a job is the object of a push service. All other members are fields of the job.
  public static func isServiceObject(_ name: String) -> Bool { !fields.contains(name) }
}

/// Content of a job for one service, read as far as it is valid. The rules of a service use this type because they also
/// check jobs with errors in other fields.
public struct JobContent {
  /// The service's own object of the job, merged over the service's own object of the template. Without fields if
  /// neither exists.
  public let own: JobFields
  /// Payload of the service's own object; `nil` for none.
  public let payload: JSONValue?
  /// Whether the job has a common message, which may be invalid. The payload is then only a part of the push.
  public let hasMessage: Bool
  /// Common message; `nil` for none, and for an invalid one.
  public let message: CommonMessage?
  /// Common urgency; `nil` for none.
  public let urgency: Urgency?

  /// - Parameter job: the members of a job, or of a template. With variants, the content is the content of the first
  ///   variant.
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
    hasMessage = message != nil
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
