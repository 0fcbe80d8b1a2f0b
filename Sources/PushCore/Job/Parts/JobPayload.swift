/// Content of a job's pushes for one push service. The payload is not checked here, but by the rules of the service.
struct JobPayload {
  /// Payload without insignificant white space. Texts are as the producer wrote them. If only variants have content,
  /// this is the payload of the first variant.
  let payload: [UInt8]
  /// Content that differs from push to push; `nil` if all pushes have the same payload.
  let content: PersonalContent?

  /// Options of the pushes.
  let options: PushOptions
  /// Path of the content in the job.
  let path: String

  /// - Parameters:
  ///   - job: the fields of the job.
  ///   - variants: the variants of the job.
  ///   - bytes: the text that contains the fields.
  ///   - audience: the audience of the job.
  ///   - value: the JSON value of the audience in the job.
  ///   - id: the id of the campaign.
  ///   - service: the service that gets the pushes.
  ///   - services: names of the services whose objects are allowed; `nil` allows all names.
  init(
    _ job: JobFields, variants: [JobVariants.Member] = [], in bytes: [UInt8], to audience: Audience,
    as value: JSONValue? = nil, campaign id: String = "", for service: any PushService, services: Set<String>? = nil
  ) throws(JobError) {
    var reader = PayloadReader(
      in: bytes, audience: value, campaign: id, urgency: try job.optionalChoice("urgency"))
    let sources = try ContentSource.all(of: job, variants, for: service, known: services)
    options = try reader.options(of: sources[0])
    for source in sources.dropFirst() where try reader.options(of: source) != options {
      throw JobError(
        field: source.ownPath, message: "has other options than the first variant: a campaign has one kind of push",
        hint: "use the same options in all variants")
    }
    var forms: [[PersonalContent.Form]] = []
    for source in sources { forms.append(try reader.forms(of: source).map(PersonalContent.Form.init)) }
    let fields = try CampaignJob.content(of: job, for: service)
    let base = try ContentSource(fields, for: service, known: services)
    payload = try reader.payloadText(of: base.saysSomething ? base : sources[0])
    path = sources[0].path
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
          field: fields.value("localized") == nil ? path : fields.path("localized"),
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
  /// Returns the payload of a job in all its languages. The first form is the payload without the changes of any
  /// language. With variants, the result has these forms for each variant, in the order of the variants.
  ///
  /// - Parameters:
  ///   - bytes: the text that contains the job.
  ///   - service: the service that gets the payload.
  /// - Throws: an error if `message`, the service's own object, `localized`, `uniqueKey`, `campaignKey`, `trim` or
  ///   `variants` is invalid on its own.
  public static func all(
    of job: [JSONValue.Member], in bytes: [UInt8], for service: any PushService
  ) throws(JobError) -> [PayloadForm] {
    try byVariant(of: job, in: bytes, service, measures: true).flatMap(\.forms)
  }

  /// Returns the variants of a job that have the same content as an earlier variant: the path of each, with the name of
  /// the earlier variant.
  public static func repeated(
    in job: [JSONValue.Member], _ bytes: [UInt8], for service: any PushService
  ) throws(JobError) -> [(path: String, name: String)] {
    let variants = try byVariant(of: job, in: bytes, service, measures: false)
    return variants.indices.dropFirst().compactMap { index in
      let same = variants[..<index].first { other in
        other.forms.elementsEqual(variants[index].forms) { $0.locale == $1.locale && $0.template == $1.template }
      }
      return same.map { (path: "variants[\(index)]", name: $0.name) }
    }
  }

  /// Returns the payload forms of a job, separately for each variant.
  ///
  /// - Parameter measures: whether the sizes include the values of the job's recipients.
  /// - Returns: the name and the forms of each variant; one entry without a name for a job without variants.
  private static func byVariant(
    of job: [JSONValue.Member], in bytes: [UInt8], _ service: any PushService, measures: Bool
  ) throws(JobError) -> [(name: String, forms: [PayloadForm])] {
    let fields = JobFields(job)
    var id = (try? fields.string("id")) ?? ""
    // The id of a run has this number of characters more than the id of the job.
    if fields.value("repeat") != nil { id += String(repeating: "0", count: Repetition.suffixLength) }
    var reader = PayloadReader(
      in: bytes, audience: job.value("audience"), campaign: id, urgency: try? fields.optionalChoice("urgency"),
      root: JSONValue(kind: .object(job), range: 0..<bytes.count))
    let variants = try JobVariants.members(of: fields, services: nil)
    var all: [(name: String, forms: [PayloadForm])] = []
    for (index, source) in try ContentSource.all(of: fields, variants, for: service, known: nil).enumerated() {
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
