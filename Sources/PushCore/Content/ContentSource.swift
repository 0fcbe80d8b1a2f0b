/// What the pushes of a job are made of, or those of one of its variants: a payload, and what differs from it by language.
struct ContentSource {
  /// What differs in one language.
  struct Language {
    /// As the job names it.
    var tag: String
    /// JSON merge patches, one applied upon the other: the job's, and its variant's.
    var patches: [JSONValue]
    /// Where it stands in the job.
    var path: String
  }

  /// An object.
  private(set) var payload: JSONValue
  /// Where it stands in the job.
  private(set) var path: String
  private(set) var languages: [Language]
  /// The name under which the push's own id stands; `nil` for none.
  let uniqueKey: String?
  /// The name under which the campaign's id stands; `nil` for none.
  let campaignKey: String?
  /// The names from the payload to the text that may be shortened; `nil` for none.
  let trimmed: [String]?
  private let fields: JobFields

  /// - Parameter fields: the job's, or its template's.
  init(_ fields: JobFields) throws(JobError) {
    try self.init(fields, payload: fields.required("payload"), path: fields.path("payload"))
  }

  private init(_ fields: JobFields, payload: JSONValue, path: String) throws(JobError) {
    self.fields = fields
    self.payload = payload
    self.path = path
    guard case .object(let members) = payload.kind else {
      throw JobError(field: path, message: "must be a JSON object, not \(payload.kindName)")
    }
    languages = try Self.languages(fields)
    uniqueKey = try Self.key("uniqueKey", fields, members)
    campaignKey = try Self.key("campaignKey", fields, members)
    if let uniqueKey, uniqueKey == campaignKey {
      throw fields.error("campaignKey", "is the same as uniqueKey", hint: "name another")
    }
    trimmed = try fields.string("trim").map { $0.split(separator: ".").map(String.init) }
  }

  /// What a job says: once, or for each of its variants.
  ///
  /// - Parameters:
  ///   - job: its fields.
  ///   - variants: of it.
  static func all(of job: JobFields, _ variants: [JobVariants.Member]) throws(JobError) -> [ContentSource] {
    let fields = try CampaignJob.content(of: job)
    guard !variants.isEmpty else { return [try ContentSource(fields)] }
    var all: [ContentSource] = []
    for variant in variants { all.append(try ContentSource(variant.fields, upon: fields)) }
    return all
  }

  /// What a variant says: its template, or what differs from the job's own payload; where the job has none, its payload is
  /// the whole.
  private init(_ variant: JobFields, upon job: JobFields) throws(JobError) {
    guard variant.value("template") == nil else {
      try self.init(CampaignJob.content(of: variant))
      return
    }
    let own = variant.value("payload")
    guard own != nil || job.value("payload") != nil else {
      throw variant.error(
        "payload", "is missing", hint: "give it one, or the job one from which variants say what differs")
    }
    if let own {
      guard case .object = own.kind else {
        throw variant.error("payload", "must be a JSON object, not \(own.kindName)", hint: "give what differs")
      }
      if let base = job.value("payload"), case .object = base.kind {
        try self.init(job, payload: MergePatch.apply(own, to: base), path: variant.path("payload"))
      } else {
        try self.init(job, payload: MergePatch.apply(own, to: nil), path: variant.path("payload"))
      }
    } else {
      try self.init(job)
    }
    for language in try Self.languages(variant) {
      let tag = LanguageTag(language.tag.utf8)
      if let place = languages.firstIndex(where: { LanguageTag($0.tag.utf8) == tag }) {
        languages[place].patches += language.patches
        languages[place].path = language.path
      } else {
        languages.append(language)
      }
    }
    try checkCount(variant)
  }

  /// The error for a text that may be shortened and is in no language of it.
  var nothingToShorten: JobError {
    fields.error(
      "trim", "\(Excerpt.quoted((trimmed ?? []).joined(separator: "."))) is no string of the payload",
      hint: "name one by its path in the payload, such as aps.alert.body")
  }

  private func checkCount(_ fields: JobFields) throws(JobError) {
    guard languages.count <= PersonalContent.mostLocales else {
      throw fields.error(
        "localized",
        "makes \(languages.count) languages, at most \(PersonalContent.mostLocales) are possible")
    }
  }

  private static func languages(_ fields: JobFields) throws(JobError) -> [Language] {
    guard let value = fields.value("localized") else { return [] }
    guard case .object(let patches) = value.kind else {
      throw fields.error("localized", "must be an object with a language each, not \(value.kindName)")
    }
    guard patches.count <= PersonalContent.mostLocales else {
      throw fields.error(
        "localized", "has \(patches.count) languages, at most \(PersonalContent.mostLocales) are possible")
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
          hint: "leave one of them")
      }
      guard case .object = patch.value.kind else {
        throw fields.error(
          name, "must be an object, not \(patch.value.kindName)", hint: "give what differs from payload")
      }
      languages.append(Language(tag: patch.name, patches: [patch.value], path: fields.path(name)))
    }
    return languages
  }

  /// The name of a member that Carillon adds to the payload.
  private static func key(
    _ name: String, _ fields: JobFields, _ members: [JSONValue.Member]
  ) throws(JobError) -> String? {
    guard let key = try fields.string(name) else { return nil }
    guard PlainName.isValid(key) else {
      throw fields.error(name, "\(Excerpt.quoted(key)) can't be a key", hint: "it must be \(PlainName.form)")
    }
    guard !members.contains(where: { $0.name == key }) else {
      throw fields.error(name, "the payload has a member \(Excerpt.quoted(key)) already", hint: "name another")
    }
    return key
  }
}
