/// Source of the pushes of a job or of one of its variants: a payload and its changes by language.
struct ContentSource {
  /// Changes of the payload for one language.
  struct Language {
    /// Language tag as written in the job.
    var tag: String
    /// JSON merge patches, applied in order: the job's, then its variant's.
    var patches: [JSONValue]
    /// Path of the language in the job.
    var path: String
  }

  /// Payload: an object.
  private(set) var payload: JSONValue
  /// Path of the payload in the job.
  private(set) var path: String
  private(set) var languages: [Language]
  /// Name of the member with the push's own id; `nil` for none.
  let uniqueKey: String?
  /// Name of the member with the campaign's id; `nil` for none.
  let campaignKey: String?
  /// Names on the path from the payload to the text that may be shortened; `nil` for none.
  let trimmed: [String]?
  private let fields: JobFields

  /// - Parameter fields: the fields of the job or of its template.
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
      throw fields.error("campaignKey", "is the same as uniqueKey", hint: "choose another name")
    }
    trimmed = try fields.string("trim").map { $0.split(separator: ".").map(String.init) }
  }

  /// Returns one source for the job, or one for each of its variants.
  ///
  /// - Parameters:
  ///   - job: the fields of the job.
  ///   - variants: the variants of the job.
  static func all(of job: JobFields, _ variants: [JobVariants.Member]) throws(JobError) -> [ContentSource] {
    let fields = try CampaignJob.content(of: job)
    guard !variants.isEmpty else { return [try ContentSource(fields)] }
    var all: [ContentSource] = []
    for variant in variants { all.append(try ContentSource(variant.fields, upon: fields)) }
    return all
  }

  /// Reads a variant: its template, or its changes to the job's payload. If the job has no payload, the variant's
  /// payload is complete.
  private init(_ variant: JobFields, upon job: JobFields) throws(JobError) {
    guard variant.value("template") == nil else {
      try self.init(CampaignJob.content(of: variant))
      return
    }
    let own = variant.value("payload")
    guard own != nil || job.value("payload") != nil else {
      throw variant.error(
        "payload", "is missing", hint: "add a payload to the variant, or one to the job that variants change")
    }
    if let own {
      guard case .object = own.kind else {
        throw variant.error("payload", "must be a JSON object, not \(own.kindName)", hint: "list the differences")
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

  /// Error for a text that may be shortened but is in no language of the source.
  var nothingToShorten: JobError {
    fields.error(
      "trim", "\(Excerpt.quoted((trimmed ?? []).joined(separator: "."))) is not a string in the payload",
      hint: "use a path in the payload, such as aps.alert.body")
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
          hint: "remove one of them")
      }
      guard case .object = patch.value.kind else {
        throw fields.error(
          name, "must be an object, not \(patch.value.kindName)", hint: "list the differences from payload")
      }
      languages.append(Language(tag: patch.name, patches: [patch.value], path: fields.path(name)))
    }
    return languages
  }

  /// Returns the name of a member that Carillon adds to the payload.
  private static func key(
    _ name: String, _ fields: JobFields, _ members: [JSONValue.Member]
  ) throws(JobError) -> String? {
    guard let key = try fields.string(name) else { return nil }
    guard PlainName.isValid(key) else {
      throw fields.error(name, "\(Excerpt.quoted(key)) is not a valid key", hint: "it must be \(PlainName.form)")
    }
    guard !members.contains(where: { $0.name == key }) else {
      throw fields.error(name, "the payload already has a member \(Excerpt.quoted(key))", hint: "choose another name")
    }
    return key
  }
}
