/// Content of a job, or of one of its variants, as written for one push service: the common message, the service's own
/// object (such as `apns`), and the changes of both for each language. ``PayloadReader`` makes the payloads from a
/// source.
struct ContentSource {
  /// Changes for one language.
  struct Language {
    /// Language tag as written in the job.
    var tag: String
    /// JSON merge patches for the message, applied in this order: the patch of the job, then the patch of the variant.
    var message: [JSONValue]
    /// JSON merge patches for the payload of the service's own object, in the same order.
    var payload: [JSONValue]
    /// Path of the language in the job.
    var path: String
  }

  /// Common message: an object; `nil` for none.
  private(set) var message: JSONValue?
  /// The service's own object; `nil` for none.
  private(set) var own: JSONValue?
  /// Path of the content in the job: the path of the message, or the path of the payload in the service's own object if
  /// the source has no message.
  private(set) var path: String
  /// Path of the service's own object.
  private(set) var ownPath: String
  private(set) var languages: [Language]
  /// Name of the member with the push's own id; `nil` for none.
  let uniqueKey: String?
  /// Name of the member with the campaign's id; `nil` for none.
  let campaignKey: String?
  /// Path in the job of the text that Carillon may shorten (job field `trim`), as a list of names; `nil` for none.
  let trimmed: [String]?
  /// Whether the job may have content for other services. Then the text that may be shortened can also be in the
  /// payload of another service.
  private let hasOthers: Bool
  let service: any PushService
  private let fields: JobFields

  /// - Parameters:
  ///   - fields: the fields of the job or of its template.
  ///   - known: names of the services whose objects are allowed in `localized`; `nil` allows all names.
  init(_ fields: JobFields, for service: any PushService, known: Set<String>?) throws(JobError) {
    self.fields = fields
    self.service = service
    message = try Self.message(fields)
    own = try Self.own(fields, service)
    ownPath = fields.path(service.name)
    path = message == nil ? "\(ownPath).\(service.payloadField)" : fields.path("message")
    languages = try Self.languages(fields, service, known)
    uniqueKey = try Self.key("uniqueKey", fields)
    campaignKey = try Self.key("campaignKey", fields)
    if let uniqueKey, uniqueKey == campaignKey {
      throw fields.error("campaignKey", "is the same as uniqueKey", hint: "choose another name")
    }
    trimmed = try Self.trimmed(fields, service, known)
    hasOthers = known?.count != 1
  }

  /// Returns one source for the job, or one for each of its variants.
  ///
  /// - Parameters:
  ///   - job: the fields of the job.
  ///   - variants: the variants of the job.
  ///   - known: names of the services whose objects are allowed in `localized`; `nil` allows all names.
  static func all(
    of job: JobFields, _ variants: [JobVariants.Member], for service: any PushService, known: Set<String>?
  ) throws(JobError) -> [ContentSource] {
    let base = try ContentSource(CampaignJob.content(of: job, for: service), for: service, known: known)
    guard !variants.isEmpty else {
      try base.checkSaysSomething()
      return [base]
    }
    var all: [ContentSource] = []
    for variant in variants {
      var source = base
      if variant.fields.value("template") == nil {
        try source.change(by: variant.fields, known)
      } else {
        source = try ContentSource(
          CampaignJob.content(of: variant.fields, for: service), for: service, known: known)
        source.takeOptions(of: base)
      }
      try source.checkSaysSomething()
      all.append(source)
    }
    return all
  }

  /// Copies the job's options for the service into this source, the source of a variant with a template. The template
  /// replaces only the content of the job.
  private mutating func takeOptions(of base: ContentSource) {
    guard case .object(let members)? = base.own?.kind, let range = base.own?.range else { return }
    let options = members.filter { $0.name != service.payloadField }
    guard !options.isEmpty else { return }
    let below = JSONValue(kind: .object(options), range: range)
    own = own.map { MergePatch.apply($0, to: below) } ?? below
  }

  /// Applies the changes of a variant. If the job has no content, the variant contains the complete content.
  private mutating func change(by variant: JobFields, _ known: Set<String>?) throws(JobError) {
    let says = saysSomething
    if let own = try Self.own(variant, service) {
      self.own = MergePatch.apply(own, to: self.own)
      ownPath = variant.path(service.name)
      path = "\(ownPath).\(service.payloadField)"
    }
    if let message = try Self.message(variant) {
      self.message = MergePatch.apply(message, to: self.message)
      path = variant.path("message")
    }
    if !says, !saysSomething { path = variant.path("message") }
    for language in try Self.languages(variant, service, known) {
      let tag = LanguageTag(language.tag.utf8)
      if let place = languages.firstIndex(where: { LanguageTag($0.tag.utf8) == tag }) {
        languages[place].message += language.message
        languages[place].payload += language.payload
        languages[place].path = language.path
      } else {
        languages.append(language)
      }
    }
    guard languages.count <= PersonalContent.maximumLocales else {
      throw variant.error(
        "localized",
        "has \(languages.count) languages with those of the job, more than the limit of \(PersonalContent.maximumLocales)"
      )
    }
  }

  /// Payload of the service's own object; `nil` for none.
  var payload: JSONValue? {
    guard case .object(let members)? = own?.kind else { return nil }
    return members.value(service.payloadField)
  }

  /// Fields of the service's own object.
  var ownFields: JobFields {
    guard case .object(let members)? = own?.kind else { return JobFields([], path: ownPath) }
    return JobFields(members, path: ownPath)
  }

  /// Whether the source has a message or a payload.
  var saysSomething: Bool { message != nil || payload != nil }

  private func checkSaysSomething() throws(JobError) {
    guard !saysSomething else { return }
    let place = path.hasSuffix("message") ? path : fields.path("message")
    throw JobError(
      field: place, message: "is missing: the job has no content for \(service.title)",
      hint: #"add "message", or {"\#(service.name)":{"\#(service.payloadField)":…}}"#)
  }

  /// Returns the error if no language of the source contains the text that `trim` names; `nil` for no error.
  ///
  /// - Parameters:
  ///   - exists: whether the job has the text.
  ///   - isSent: whether a push of this service has the text.
  func errorOfTrim(exists: Bool, isSent: Bool) -> JobError? {
    guard let trimmed, !isSent, !exists || !hasOthers else { return nil }
    let name = Excerpt.quoted(trimmed.joined(separator: "."))
    return fields.error(
      "trim", exists ? "the payload for \(service.title) replaces \(name)" : "\(name) is not a string of the push",
      hint: exists
        ? "use the path of the text in {\"\(service.name)\":{\"\(service.payloadField)\":…}}" : Self.trimHint(service))
  }

  /// Returns the error for a `uniqueKey` or `campaignKey` that the payload already contains as a member.
  func keyExists(_ field: String, _ key: String) -> JobError {
    fields.error(field, "the payload already has a member \(Excerpt.quoted(key))", hint: "choose another name")
  }

  // MARK: Reading

  private static func object(_ name: String, _ fields: JobFields) throws(JobError) -> JSONValue? {
    guard let value = fields.value(name) else { return nil }
    guard case .object = value.kind else {
      throw fields.error(name, "must be a JSON object, not \(value.kindName)")
    }
    return value
  }

  /// Returns the common message, with known fields only.
  private static func message(_ fields: JobFields) throws(JobError) -> JSONValue? {
    guard let message = try object("message", fields) else { return nil }
    _ = try JobFields(message, path: fields.path("message"), known: CommonMessage.fields, planned: [])
    return message
  }

  /// Returns the service's own object, with known fields only.
  private static func own(_ fields: JobFields, _ service: any PushService) throws(JobError) -> JSONValue? {
    guard let own = try object(service.name, fields) else { return nil }
    let known = service.jobFields.map(\.name)
    let inner = try JobFields(own, path: fields.path(service.name), known: known, planned: [])
    _ = try object(service.payloadField, inner)
    return own
  }

  private static func languages(
    _ fields: JobFields, _ service: any PushService, _ known: Set<String>?
  ) throws(JobError) -> [Language] {
    guard let value = fields.value("localized") else { return [] }
    guard case .object(let patches) = value.kind else {
      throw fields.error("localized", "must be an object with languages as names, not \(value.kindName)")
    }
    guard patches.count <= PersonalContent.maximumLocales else {
      throw fields.error(
        "localized", "has \(patches.count) languages, more than the limit of \(PersonalContent.maximumLocales)")
    }
    var seen: [LanguageTag: String] = [:]
    var languages: [Language] = []
    for patch in patches {
      let name = "localized." + Excerpt.bare(patch.name)
      let tag: LanguageTag
      do throws(LanguageTag.Problem) {
        tag = try LanguageTag(checking: patch.name)
      } catch {
        throw fields.error(name, error.message, hint: error.hint)
      }
      if let other = seen.updateValue(patch.name, forKey: tag) {
        throw fields.error(
          name,
          "means the same language as \(Excerpt.quoted(other)): case, - or _, and former codes make no difference",
          hint: "remove one of them")
      }
      guard case .object(let members) = patch.value.kind else {
        throw fields.error(
          name, "must be an object, not \(patch.value.kindName)", hint: "list the differences from message")
      }
      let changes = JSONValue(kind: .object(members), range: patch.value.range)
      languages.append(try language(patch.name, changes, path: fields.path(name), service, known))
    }
    return languages
  }

  /// Reads the changes for one language. Separates the changes of the message from the changes of the service's
  /// payload.
  private static func language(
    _ tag: String, _ changes: JSONValue, path: String, _ service: any PushService, _ known: Set<String>?
  ) throws(JobError) -> Language {
    var language = Language(tag: tag, message: [], payload: [], path: path)
    guard case .object(let members) = changes.kind else { return language }
    var ofMessage: [JSONValue.Member] = []
    for member in members {
      if CommonMessage.fields.contains(member.name) {
        ofMessage.append(member)
      } else if member.name == service.name {
        if let patch = try payloadPatch(member.value, path: "\(path).\(service.name)", service) {
          language.payload.append(patch)
        }
      } else if known?.contains(member.name) == false {
        throw unknown(member.name, path: path, service, known ?? [])
      }
    }
    if !ofMessage.isEmpty { language.message = [JSONValue(kind: .object(ofMessage), range: changes.range)] }
    return language
  }

  private static func unknown(
    _ name: String, path: String, _ service: any PushService, _ known: Set<String>
  ) -> JobError {
    let names = CommonMessage.fields + known
    let inPayload = #"keys of the payload belong in {"\#(service.name)":{"\#(service.payloadField)":{…}}}"#
    return JobError(
      field: "\(path).\(Excerpt.bare(name))", message: "unknown field",
      hint: Nearest.match(name, among: names).map { "did you mean '\($0)'?" }
        ?? "known: \(names.sorted().joined(separator: ", ")); \(inPayload)")
  }

  /// Returns the changes of the payload in a service's object in `localized`; `nil` for none.
  private static func payloadPatch(
    _ value: JSONValue, path: String, _ service: any PushService
  ) throws(JobError) -> JSONValue? {
    guard case .object(let members) = value.kind else {
      throw JobError(field: path, message: "must be an object, not \(value.kindName)")
    }
    let known = service.jobFields.map(\.name)
    for member in members where member.name != service.payloadField {
      let place = "\(path).\(Excerpt.bare(member.name))"
      guard known.contains(member.name) else {
        throw JobError(
          field: place, message: "unknown field", hint: Nearest.hint(member.name, among: [service.payloadField]))
      }
      throw JobError(
        field: place, message: "is the same for all languages", hint: "set it in \(service.name)")
    }
    guard let patch = members.value(service.payloadField) else { return nil }
    guard case .object = patch.kind else {
      throw JobError(
        field: "\(path).\(service.payloadField)", message: "must be an object, not \(patch.kindName)",
        hint: "list the differences from the payload")
    }
    return patch
  }

  /// Returns the path of the text that may be shortened, as a list of names; `nil` if the job names no such text or
  /// names a text of another service.
  ///
  /// Only texts that people read may be shortened: a shorter link or value of `data` would be wrong.
  private static func trimmed(
    _ fields: JobFields, _ service: any PushService, _ known: Set<String>?
  ) throws(JobError) -> [String]? {
    guard let text = try fields.string("trim") else { return nil }
    let names = text.split(separator: ".").map(String.init)
    if names.first == "message", names.count == 2, ["title", "body"].contains(names[1]) { return names }
    if names.count > 2, names.starts(with: [service.name, service.payloadField]) { return names }
    if let first = names.first, first != "message", first != service.name, known?.contains(first) ?? true { return nil }
    throw fields.error(
      "trim",
      "\(Excerpt.quoted(text)) is "
        + (names.first == "message" ? "not a title or a body" : "not the path of a text in the job"),
      hint: trimHint(service))
  }

  private static func trimHint(_ service: any PushService) -> String {
    "use message.title, message.body, or the path of a text in \(service.name).\(service.payloadField)"
  }

  /// Returns the value of `uniqueKey` or `campaignKey`: the name of a member that Carillon adds to the payload.
  private static func key(_ name: String, _ fields: JobFields) throws(JobError) -> String? {
    guard let key = try fields.string(name) else { return nil }
    guard PlainName.isValid(key) else {
      throw fields.error(name, "\(Excerpt.quoted(key)) is not a valid key", hint: "it must be \(PlainName.form)")
    }
    return key
  }
}
