/// What the pushes of a job say; what may be in a payload is judged by the push service.
struct JobPayload {
  /// The payload without insignificant white space, otherwise as the producer wrote it.
  let payload: [UInt8]
  /// What differs from push to push; `nil` when all say the payload as it stands.
  let content: PersonalContent?

  /// - Parameters:
  ///   - fields: the job's, or its template's.
  ///   - bytes: the text that they stand in.
  ///   - audience: whom it goes to.
  ///   - value: the same as the job says it.
  init(
    _ fields: JobFields, in bytes: [UInt8], to audience: Audience, as value: JSONValue? = nil
  ) throws(JobError) {
    var reader = try PayloadReader(fields, in: bytes, audience: value)
    let variants = try reader.variants()
    payload = JSONValue.minified(bytes[variants[0].value.range])
    guard reader.isPersonal else {
      content = nil
      return
    }
    let content = PersonalContent(
      values: reader.values,
      variants: variants.map { .init(locale: LanguageTag.normal($0.locale ?? ""), template: $0.template) })
    switch audience {
    case .segment, .users, .campaign, .activity: break
    case .tokens, .channel:
      if content.needsTarget || fields.value("uniqueKey") != nil && audience.isChannel {
        throw JobError(
          field: fields.path(fields.value("localized") == nil ? "payload" : "localized"),
          message: "depends on whom it goes to, and nothing is known of \(audience.isChannel ? "a channel" : "tokens")",
          hint: "give a segment or users instead")
      }
    }
    self.content = content
  }
}

extension Audience {
  fileprivate var isChannel: Bool { if case .channel = self { true } else { false } }
}

extension PayloadVariant {
  /// The payload of a job in all its languages, the payload itself first.
  ///
  /// - Parameter bytes: the text that the job stands in.
  /// - Throws: what is wrong with `payload`, `localized`, `uniqueKey` or `trim` by itself.
  public static func all(of job: [JSONValue.Member], in bytes: [UInt8]) throws(JobError) -> [PayloadVariant] {
    let fields = try CampaignJob.content(of: JobFields(job))
    var reader = try PayloadReader(fields, in: bytes, audience: job.value("audience"))
    return try reader.variants()
  }
}
