/// Reader of a job's content. From each ``ContentSource``, it makes the forms of the payload: the content itself, and
/// one form for each language that changes the content (``PayloadForm``).
struct PayloadReader {
  /// Text of the job, followed by the parts that services have added.
  private var composer: JSONComposer
  /// The job, in which each form looks up paths (``PayloadForm/path(of:)``); `nil` if the caller needs no paths.
  private let root: JSONValue?
  /// Audience of the job; `nil` for none.
  private let audience: JSONValue?
  /// Destination of the push.
  private let destination: PushDestination
  /// Urgency of the push; `nil` for none.
  private let urgency: Urgency?
  /// Values of the placeholders of all forms that were read, each once. Templates name a value by its index in this
  /// list.
  private(set) var values: [PersonalContent.Value] = []
  /// Whether pushes differ from each other because of the content that was read.
  private(set) var isPersonal = false
  /// Increment of each user's badge; `nil` until a payload with an increment was read.
  private(set) var badgeStep: Int?
  /// Id of the campaign: the value of the member that `campaignKey` names.
  private let campaign: String
  /// Source and language of the current form.
  private var source: ContentSource?
  private var locale: String?
  /// Range of the text that may be shortened in the current form; `nil` if there is none, or if it was already written.
  private var trimmed: Range<Int>?
  /// Whether a form of the current source has the text that may be shortened. Also true if the common message has this
  /// text, but the payload of the service's own object replaces it.
  private var hasTrimmed = false

  /// - Parameters:
  ///   - bytes: the text of the job.
  ///   - audience: the audience of the job.
  ///   - campaign: the campaign's id.
  ///   - urgency: the urgency of the job.
  ///   - root: the job, in which each form looks up paths; `nil` if the caller needs no paths.
  init(
    in bytes: [UInt8], audience: JSONValue?, campaign: String = "", urgency: Urgency? = nil, root: JSONValue? = nil
  ) {
    composer = JSONComposer(job: bytes)
    self.root = root
    self.audience = audience
    self.campaign = campaign
    self.urgency = urgency
    destination = PushDestination(audience)
  }

  /// Returns the options of a source's pushes.
  func options(of source: ContentSource) throws(JobError) -> PushOptions {
    try source.service.options(of: source.ownFields, message(of: source, nil), urgency, to: destination)
  }

  /// Returns the forms of a source: first the content itself, then one form for each language that changes it. The size
  /// of each form is its smallest size with the fallbacks of all placeholders (see ``measure(_:)``).
  mutating func forms(of source: ContentSource) throws(JobError) -> [PayloadForm] {
    if !source.languages.isEmpty || source.uniqueKey != nil || source.campaignKey != nil { isPersonal = true }
    for value in [source.message, source.payload] { if let value { try checkSize(value, path: source.path) } }
    let options = try options(of: source)
    hasTrimmed = false
    var forms = [try form(source, nil, options)]
    for language in source.languages {
      for patch in language.message + language.payload { try checkSize(patch, path: language.path) }
      forms.append(try form(source, language, options))
    }
    let isSent = forms.contains(where: \.template.canShorten)
    if let error = source.errorOfTrim(exists: hasTrimmed, isSent: isSent) { throw error }
    return forms
  }

  private mutating func form(
    _ source: ContentSource, _ language: ContentSource.Language?, _ options: PushOptions
  ) throws(JobError) -> PayloadForm {
    let value = try payload(of: source, language, options)
    self.source = source
    locale = language?.tag
    trimmed = try trimmedRange(source, language, value)
    if trimmed != nil { hasTrimmed = true }
    let template = try template(value)
    let service = source.service
    return PayloadForm(
      locale: language?.tag, path: language?.path ?? source.path,
      payloadPath: "\(language.map { "\($0.path).\(service.name)" } ?? source.ownPath).\(service.payloadField)",
      value: value, template: template, in: root)
  }

  /// Returns the payload without the changes of any language, as JSON without white space.
  mutating func payloadText(of source: ContentSource) throws(JobError) -> [UInt8] {
    let value = try payload(of: source, nil, options(of: source))
    return composer.text(of: value)
  }

  /// Returns the payload of a source in a language. The service renders the message, and the payload of the service's
  /// own object is merged over the result.
  private mutating func payload(
    of source: ContentSource, _ language: ContentSource.Language?, _ options: PushOptions
  ) throws(JobError) -> JSONValue {
    var value = source.payload
    if let message = try message(of: source, language), let place = source.message {
      do {
        let rendered = try composer.making(from: place) { (json) throws(JobError) in
          try source.service.payload(rendering: message, with: options, in: &json)
        }
        value = value.map { MergePatch.apply($0, to: rendered) } ?? rendered
      } catch {
        // The path that the service reports begins with `message`. In a template or variant, the path in the job has a
        // prefix.
        let prefix = source.path.hasSuffix("message") ? String(source.path.dropLast("message".count)) : ""
        throw JobError(field: prefix + error.field, message: error.message, hint: error.hint)
      }
    }
    for patch in language?.payload ?? [] { value = MergePatch.apply(patch, to: value) }
    return value ?? composer.object([])
  }

  /// Returns the common message of a source in a language; `nil` for none.
  private func message(
    of source: ContentSource, _ language: ContentSource.Language?
  ) throws(JobError) -> CommonMessage? {
    guard let base = source.message else {
      guard let language, let patch = language.message.first, case .object(let members) = patch.kind else { return nil }
      let name = members.first.map { "." + Excerpt.bare($0.name) } ?? ""
      throw JobError(
        field: language.path + name, message: "changes the message, and the job has no message",
        hint: #"add "message" to the job, or change {"\#(source.service.name)":{"\#(source.service.payloadField)":…}}"#)
    }
    var value = MergePatch.apply(base, to: nil)
    for patch in language?.message ?? [] { value = MergePatch.apply(patch, to: value) }
    let path = language?.path ?? source.path
    return try CommonMessage(value) { composer.path(of: $0) ?? ($1.isEmpty ? path : "\(path).\($1)") }
  }

  /// Returns the range of the text that may be shortened; `nil` for none.
  private func trimmedRange(
    _ source: ContentSource, _ language: ContentSource.Language?, _ payload: JSONValue
  ) throws(JobError) -> Range<Int>? {
    guard let names = source.trimmed else { return nil }
    var value: JSONValue?
    if names.first == "message" {
      value = source.message.map { base in
        (language?.message ?? []).reduce(base) { MergePatch.apply($1, to: $0) }
      }
    } else if names.starts(with: [source.service.name, source.service.payloadField]) {
      value = payload
    }
    for name in names.dropFirst(names.first == "message" ? 1 : 2) {
      guard case .object(let members)? = value?.kind else { return nil }
      value = members.value(name)
    }
    guard let value, case .string = value.kind else { return nil }
    return value.range
  }

  /// Calculates the sizes of forms with the values that the job contains for its recipients.
  func measure(_ forms: inout [PayloadForm]) {
    guard !values.isEmpty, let audience, case .object(let members) = audience.kind,
      let recipients = try? JobRecipient.all(JobFields(members))
    else { return }
    let content = PersonalContent(values: values, forms: forms.map(PersonalContent.Form.init))
    RecipientSizes(content, in: composer.job, of: recipients).measure(&forms)
  }

  // MARK: Limits

  /// Maximum size in bytes of a message or payload, or of the changes for one language, without white space. No push
  /// service accepts a payload of even a third of this size. The limit bounds the work for a job with many languages
  /// and variants.
  static let maximumBytes = 16_384

  private func checkSize(_ value: JSONValue, path: String) throws(JobError) {
    guard value.range.count > Self.maximumBytes else { return }
    let size = JSONValue.minified(composer.bytes(value.range)).count
    guard size > Self.maximumBytes else { return }
    throw JobError(
      field: path, message: "has \(size) bytes, more than the limit of \(Self.maximumBytes) for a push",
      hint: "send an id, and let the app fetch the rest")
  }

  // MARK: Templates

  /// Returns the path of a value in the job, for error messages.
  private func path(of value: JSONValue) -> String { composer.path(of: value) ?? source?.path ?? "" }

  private mutating func template(_ value: JSONValue) throws(JobError) -> PayloadTemplate {
    var template = PayloadTemplate()
    guard let source, case .object(let members) = value.kind else { return template }
    let places = source.service.payloadPlaces(in: value)
    let keys = source.uniqueKey == nil && source.campaignKey == nil ? nil : places.keys[...]
    try write(object: members, to: &template, badge: places.badge?[...], keys: keys)
    return template
  }

  /// Writes an object to the template.
  ///
  /// - Parameters:
  ///   - badge: names on the path from this object to the badge count; `nil` if the object does not contain the count.
  ///   - keys: names on the path from this object to the object that gets `uniqueKey` and `campaignKey`; empty if it is
  ///     this object, `nil` if this object does not contain it.
  private mutating func write(
    object members: [JSONValue.Member], to template: inout PayloadTemplate, badge: ArraySlice<String>?,
    keys: ArraySlice<String>?
  ) throws(JobError) {
    template.add([UInt8(ascii: "{")])
    for (index, member) in members.enumerated() {
      if index > 0 { template.add([UInt8(ascii: ",")]) }
      template.add(composer.bytes(member.nameRange))
      template.add([UInt8(ascii: ":")])
      try write(
        member.value, to: &template, badge: badge?.first == member.name ? badge?.dropFirst() : nil,
        keys: keys?.first == member.name ? keys?.dropFirst() : nil)
    }
    if keys?.isEmpty == true {
      try writeKeys(beside: members, to: &template)
    } else if let name = keys?.first, !members.contains(where: { $0.name == name }) {
      template.add(Array("\(members.isEmpty ? "" : ",")\"\(name)\":".utf8))
      try write(object: [], to: &template, badge: nil, keys: keys?.dropFirst())
    }
    template.add([UInt8(ascii: "}")])
  }

  /// Writes `uniqueKey` and `campaignKey` as further members of an object.
  private mutating func writeKeys(
    beside members: [JSONValue.Member], to template: inout PayloadTemplate
  ) throws(JobError) {
    guard let source else { return }
    var isFirst = members.isEmpty
    for (field, key) in [("uniqueKey", source.uniqueKey), ("campaignKey", source.campaignKey)] {
      guard let key else { continue }
      if let member = members.first(where: { $0.name == key }) {
        guard locale != nil else { throw source.keyExists(field, key) }
        throw JobError(
          field: path(of: member.value), message: "has the name that \(field) adds to the payload",
          hint: "choose another name")
      }
      template.add(Array("\(isFirst ? "" : ",")\"\(key)\":\"".utf8))
      if field == "uniqueKey" { template.add(.id) } else { template.add(Array(campaign.utf8)) }
      template.add([UInt8(ascii: "\"")])
      isFirst = false
    }
  }

  private mutating func write(
    _ value: JSONValue, to template: inout PayloadTemplate, badge: ArraySlice<String>?, keys: ArraySlice<String>?
  ) throws(JobError) {
    switch value.kind {
    case .object(let members): try write(object: members, to: &template, badge: badge, keys: keys)
    case .array(let elements):
      template.add([UInt8(ascii: "[")])
      for (index, element) in elements.enumerated() {
        if index > 0 { template.add([UInt8(ascii: ",")]) }
        try write(element, to: &template, badge: nil, keys: nil)
      }
      template.add([UInt8(ascii: "]")])
    // The badge count has one place in the payloads of a service. A member with the same name at another place belongs
    // to the app.
    case .string(let text) where badge?.isEmpty == true && BadgeStep.read(text) != nil:
      let step = BadgeStep.read(text)
      guard badgeStep == nil || badgeStep == step else {
        throw JobError(
          field: path(of: value), message: "differs from the badge step in the rest of the job",
          hint: "use the same step everywhere: a user has one badge count for all languages")
      }
      badgeStep = step
      isPersonal = true
      template.add(.badge, fallback: Array(text.utf8.dropFirst()))
    case .string(let text): try write(text, of: value, to: &template)
    case .number, .bool, .null: template.add(composer.bytes(value.range))
    }
  }

  private mutating func write(
    _ text: String, of value: JSONValue, to template: inout PayloadTemplate
  ) throws(JobError) {
    let parts: [TemplateText.Part]
    do {
      parts = try TemplateText(text).parts
    } catch {
      throw JobError(field: path(of: value), message: error.message, hint: error.hint)
    }
    if parts != (text.isEmpty ? [] : [.text(text)]) { isPersonal = true }
    template.add([UInt8(ascii: "\"")])
    let isTrimmed = trimmed == value.range
    if isTrimmed {
      // A service may put the text into the payload twice. Only the first occurrence is shortened.
      trimmed = nil
      isPersonal = true
      template.add(.textBegins)
    }
    for part in parts {
      switch part {
      case .text(let text) where parts.count == 1 && text == self.text(of: value):
        // The text is copied as the producer wrote it.
        template.add(composer.bytes(value.range).dropFirst().dropLast())
      case .text(let text): template.add(JSONWriter.escaped(text))
      case .value(let name, let format, let fallback):
        let place = try place(of: PersonalContent.Value(name: name, format: format), in: value)
        template.add(.value(place), fallback: JSONWriter.escaped(fallback))
      }
    }
    if isTrimmed { template.add(.textEnds) }
    template.add([UInt8(ascii: "\"")])
  }

  private func text(of value: JSONValue) -> String? {
    if case .string(let text) = value.kind { text } else { nil }
  }

  private mutating func place(
    of placeholder: PersonalContent.Value, in value: JSONValue
  ) throws(JobError) -> Int {
    if let place = values.firstIndex(of: placeholder) { return place }
    values.append(placeholder)
    guard values.count <= PersonalContent.maximumValues else {
      throw JobError(
        field: path(of: value), message: "more than \(PersonalContent.maximumValues) values in one job",
        hint: "compose such texts in your backend, and send them as one value")
    }
    return values.count - 1
  }
}
