/// Content of a job's pushes. The push service checks the payload itself.
struct JobPayload {
  /// Payload without insignificant white space, otherwise as the producer wrote it. If only variants have a payload, it
  /// is that of the first.
  let payload: [UInt8]
  /// Content that differs from push to push; `nil` if all pushes have the same payload.
  let content: PersonalContent?

  /// - Parameters:
  ///   - job: the fields of the job.
  ///   - variants: the variants of the job.
  ///   - bytes: the text that contains the fields.
  ///   - audience: the audience of the job.
  ///   - value: the audience as JSON in the job.
  ///   - id: the id of the campaign.
  ///   - service: the service of the push; `nil` if it is not known.
  init(
    _ job: JobFields, variants: [JobVariants.Member] = [], in bytes: [UInt8], to audience: Audience,
    as value: JSONValue? = nil, campaign id: String = "", of service: (any PushService)? = nil
  ) throws(JobError) {
    var reader = PayloadReader(in: bytes, audience: value, campaign: id, of: service)
    let sources = try ContentSource.all(of: job, variants)
    var forms: [[PersonalContent.Form]] = []
    for source in sources { forms.append(try reader.forms(of: source).map(PersonalContent.Form.init)) }
    let fields = try CampaignJob.content(of: job)
    payload = JSONValue.minified(bytes[(fields.value("payload") ?? sources[0].payload).range])
    guard reader.isPersonal || !variants.isEmpty else {
      content = nil
      return
    }
    let step = reader.badgeStep ?? 0
    let content =
      variants.isEmpty
      ? PersonalContent(values: reader.values, forms: forms[0], badgeStep: step)
      : PersonalContent(values: reader.values, variants: forms, badgeStep: step)
    switch audience {
    case .segment, .users, .campaign, .activity: break
    case .tokens, .channel:
      if content.needsTarget || content.badgeStep > 0 || fields.value("uniqueKey") != nil && audience.isChannel {
        throw JobError(
          field: fields.path(fields.value("localized") == nil ? "payload" : "localized"),
          message: "needs data of users, which \(audience.isChannel ? "a channel does" : "tokens do") not have",
          hint: "give a segment or users instead")
      }
    }
    self.content = content
  }
}

extension Audience {
  fileprivate var isChannel: Bool { if case .channel = self { true } else { false } }
}

extension PayloadForm {
  /// Returns the payload of a job in all its languages, with the payload itself first. The forms of several variants
  /// follow each other.
  ///
  /// - Parameters:
  ///   - bytes: the text that contains the job.
  ///   - service: the service of the push.
  /// - Throws: an error if `payload`, `localized`, `uniqueKey`, `campaignKey`, `trim` or `variants` is invalid on its
  ///   own.
  public static func all(
    of job: [JSONValue.Member], in bytes: [UInt8], for service: any PushService
  ) throws(JobError) -> [PayloadForm] {
    try byVariant(of: job, in: bytes, for: service, measures: true).flatMap(\.forms)
  }

  /// Returns the variants of a job that have the same content as an earlier one: the path of each, and the name of the
  /// earlier one.
  public static func repeated(
    in job: [JSONValue.Member], _ bytes: [UInt8]
  ) throws(JobError) -> [(path: String, name: String)] {
    let variants = try byVariant(of: job, in: bytes, for: nil, measures: false)
    return variants.indices.dropFirst().compactMap { index in
      let same = variants[..<index].first { other in
        other.forms.elementsEqual(variants[index].forms) { $0.locale == $1.locale && $0.template == $1.template }
      }
      return same.map { (path: "variants[\(index)]", name: $0.name) }
    }
  }

  /// - Parameter measures: whether the sizes include the values of the job's recipients.
  /// - Returns: the name and the forms of each variant; one entry without a name for a job without variants.
  private static func byVariant(
    of job: [JSONValue.Member], in bytes: [UInt8], for service: (any PushService)?, measures: Bool
  ) throws(JobError) -> [(name: String, forms: [PayloadForm])] {
    let fields = JobFields(job)
    var id = (try? fields.string("id")) ?? ""
    // The id of each run is longer by this length.
    if fields.value("repeat") != nil { id += String(repeating: "0", count: Repetition.suffixLength) }
    var reader = PayloadReader(in: bytes, audience: job.value("audience"), campaign: id, of: service)
    let variants = try JobVariants.members(of: fields)
    var all: [(name: String, forms: [PayloadForm])] = []
    for (index, source) in try ContentSource.all(of: fields, variants).enumerated() {
      all.append((variants.isEmpty ? "" : variants[index].variant.name, try reader.forms(of: source)))
    }
    guard measures else { return all }
    // All forms are measured together, so that each recipient's values are looked up only once.
    var forms = all.flatMap(\.forms)
    reader.measure(&forms)
    for index in all.indices {
      all[index].forms = Array(forms.prefix(all[index].forms.count))
      forms.removeFirst(all[index].forms.count)
    }
    return all
  }
}
