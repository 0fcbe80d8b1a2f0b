/// Jobs that are derived from another job: for a single device, and for a run of a recurring job.
extension CampaignJob {
  /// Returns a copy of the job for one device token, with an id of its own. The job starts immediately and has no rate.
  ///
  /// - Parameters:
  ///   - job: a valid job.
  ///   - token: the token's canonical text.
  ///   - user: the user of the token; empty for a token that the job lists without a user. The new campaign sends the
  ///     push only if the device still belongs to this user and the user has not opted out.
  ///   - suffix: text that is appended to the id; at most 32 characters that are valid in an id.
  ///   - payload: the payload with the values of the device in place of placeholders, if the job has personal content.
  ///     The new campaign can't read the values of the other campaign's target.
  ///   - service: the service of the token.
  /// - Throws: an error if the job is not valid JSON.
  public static func forSingleDevice(
    _ job: [UInt8], token: String, of user: String, suffix: String, payload: [UInt8]? = nil,
    for service: any PushService
  ) throws(JSONSyntaxError) -> [UInt8] {
    let root = try JSONValue(parsing: job, maximumDepth: maximumNesting)
    guard case .object(let members) = root.kind else { return job }
    var kept = JobField.names(of: .single)
    if payload != nil { kept.removeAll(where: JobTemplate.fields.contains) }
    var json = JSONWriter()
    json.beginObject()
    for member in members where kept.contains(member.name) {
      switch member.name {
      case "id":
        json.name("id")
        var id = "retry"
        if case .string(let text) = member.value.kind { id = text }
        json.value("\(id.prefix(PlainName.maximumLength - suffix.count - 1)).\(suffix)")
      // A channel is kept, because it is already a single target.
      case "audience" where destination(root) == .devices:
        json.object("audience") { json in
          guard !user.isEmpty else { return json.array("tokens", [token]) }
          json.name("users")
          json.beginArray()
          json.beginObject()
          json.member("user", user)
          json.member("token", token)
          json.endObject()
          json.endArray()
        }
      default:
        json.name(member.name)
        json.raw(job[member.value.range])
      }
    }
    json.array("services", [service.name])
    if let payload {
      writeOwn(JobContent(of: members, for: service).own, service, payload: payload, of: job, to: &json)
    } else {
      var template: [JSONValue.Member] = []
      if case .object(let content)? = members.value("template")?.kind { template = content }
      for field in template where JobTemplate.fields.contains(field.name) {
        json.name(field.name)
        json.raw(job[field.value.range])
      }
      // The service's own object of the job is merged over the service's own object of the template.
      let composer = JSONComposer(job: job)
      let known = Set((members + template).map(\.name)).filter(isServiceObject).subtracting(["name", "version"])
      for name in known.sorted() {
        let own = members.value(name), base = template.value(name)
        guard let value = own.map({ own in base.map { MergePatch.apply(own, to: $0) } ?? own }) ?? base else {
          continue
        }
        json.name(name)
        json.raw(composer.text(of: value))
      }
    }
    json.endObject()
    return json.take()
  }

  /// Writes the service's own object with a payload in which values replace all placeholders.
  private static func writeOwn(
    _ own: JobFields, _ service: any PushService, payload: [UInt8], of job: [UInt8], to json: inout JSONWriter
  ) {
    let composer = JSONComposer(job: job)
    json.object(service.name) { json in
      for field in service.jobFields where field.name != service.payloadField {
        guard let value = own.value(field.name) else { continue }
        json.name(field.name)
        json.raw(composer.text(of: value))
      }
      json.name(service.payloadField)
      json.raw(TemplateText.quoted(payload))
    }
  }

  /// Returns the job of a run of a recurring job. The job keeps the id of the recurring job; the store adds the id of
  /// the run.
  ///
  /// - Parameters:
  ///   - job: a valid job.
  ///   - localTime: wall time of the run on each device; `nil` if the run begins immediately.
  /// - Throws: an error if the job is not valid JSON.
  public static func run(of job: [UInt8], localTime: Int?) throws(JSONSyntaxError) -> [UInt8] {
    let root = try JSONValue(parsing: job, maximumDepth: maximumNesting)
    guard case .object(let members) = root.kind else { return job }
    var json = JSONWriter()
    json.beginObject()
    if let localTime { json.member("sendAt", WallTime.format(localTime)) }
    let kept = JobField.names(of: .run)
    for member in members where kept.contains(member.name) || isServiceObject(member.name) {
      json.name(member.name)
      json.raw(job[member.value.range])
    }
    json.endObject()
    return json.take()
  }
}
