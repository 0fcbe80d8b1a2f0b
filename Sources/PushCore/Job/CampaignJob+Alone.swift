extension CampaignJob {
  /// The same job for one device token, under an id of its own: at once, and at no rate.
  ///
  /// - Parameters:
  ///   - job: a valid job.
  ///   - token: as its service writes it.
  ///   - suffix: what makes the id another; at most 32 characters of those that an id may have.
  ///   - payload: what is sent to it, where not all are sent the same: nothing is known of a token.
  /// - Throws: when the job is not valid JSON.
  public static func alone(
    _ job: [UInt8], token: String, suffix: String, payload: [UInt8]? = nil
  ) throws(JSONSyntaxError) -> [UInt8] {
    let root = try JSONValue(parsing: job, maximumDepth: maximumNesting)
    guard case .object(let members) = root.kind else { return job }
    var kept = JobField.names(of: .single)
    if payload != nil { kept.removeAll(where: JobTemplate.fields.contains) }
    var json = JSONWriter()
    json.beginObject()
    for member in members where kept.contains(member.name) {
      json.name(member.name)
      switch member.name {
      case "id":
        var id = "retry"
        if case .string(let text) = member.value.kind { id = text }
        json.value("\(id.prefix(PlainName.maximumLength - suffix.count - 1)).\(suffix)")
      // A channel is alone already.
      case "audience" where destination(root) == .devices:
        json.beginObject()
        json.name("tokens")
        json.beginArray()
        json.value(token)
        json.endArray()
        json.endObject()
      default: json.raw(job[member.value.range])
      }
    }
    if let payload {
      json.name("payload")
      json.raw(TemplateText.quoted(payload))
    } else if case .object(let template)? = members.value("template")?.kind {
      for field in template where JobTemplate.fields.contains(field.name) {
        json.name(field.name)
        json.raw(job[field.value.range])
      }
    }
    json.endObject()
    return json.take()
  }

  /// The job of a run of a repeated job. It keeps the id of the repeated job: the id of the run is the store's to say.
  ///
  /// - Parameters:
  ///   - job: a valid job.
  ///   - localTime: what each device's clock shows at its time; `nil` where it begins at once.
  /// - Throws: when the job is not valid JSON.
  public static func run(of job: [UInt8], localTime: Int?) throws(JSONSyntaxError) -> [UInt8] {
    let root = try JSONValue(parsing: job, maximumDepth: maximumNesting)
    guard case .object(let members) = root.kind else { return job }
    var json = JSONWriter()
    json.beginObject()
    if let localTime { json.member("sendAt", WallTime.format(localTime)) }
    let kept = JobField.names(of: .run)
    for member in members where kept.contains(member.name) {
      json.name(member.name)
      json.raw(job[member.value.range])
    }
    json.endObject()
    return json.take()
  }
}
