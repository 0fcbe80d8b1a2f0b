/// The payload of a job in one language, as the job has it: for the rules of its service, and for whoever shows it.
public struct PayloadVariant: Sendable {
  /// The language as the job names it; `nil` for the payload itself.
  public let locale: String?
  /// The payload: an object.
  public let value: JSONValue
  let template: PayloadTemplate
  /// Bytes as sent, shortened as far as may be: where every value is at its fallback, or with what the job says of the recipient
  /// for whom that is most.
  public internal(set) var size: Int
  /// That recipient; `nil` where it is nobody's in particular.
  public internal(set) var largestFor: String?

  init(locale: String?, path: String, value: JSONValue, template: PayloadTemplate) {
    (self.locale, self.path, self.value, self.template) = (locale, path, value, template)
    size = template.shortestSize
  }

  /// Bytes when every value is an attribute as long as one can be, and nothing is shortened; `nil` where there is none, or a text
  /// may be shortened.
  public var longestSize: Int? {
    guard !template.places.isEmpty, !template.canShorten else { return nil }
    return template.size { _ in DeviceRowDraft.maximumAttributeValue }
  }

  /// Bytes of it that are no value.
  public var fixedSize: Int { template.size { _ in 0 } }

  /// Where it stands in the job.
  public let path: String
}

/// Makes the variants of a job's payload out of its fields.
struct PayloadReader {
  /// The text that the fields stand in.
  private let bytes: [UInt8]
  private let payload: JSONValue
  private let patches: [JSONValue.Member]
  private let uniqueKey: String?
  /// The names from the payload to the text that may be shortened; `nil` for none.
  private let trimmed: [String]?
  private let fields: JobFields
  /// Of the job; `nil` where there is none.
  private let audience: JSONValue?
  /// What placeholders stand for, in the order of their places.
  private(set) var values: [PersonalContent.Value] = []
  private(set) var isPersonal: Bool

  /// - Parameters:
  ///   - fields: the job's, or its template's.
  ///   - bytes: the text that they stand in.
  init(_ fields: JobFields, in bytes: [UInt8], audience: JSONValue?) throws(JobError) {
    self.fields = fields
    self.audience = audience
    self.bytes = bytes
    payload = try fields.required("payload")
    guard case .object(let members) = payload.kind else {
      throw fields.error("payload", "must be a JSON object, not \(payload.kindName)")
    }
    patches = try Self.patches(fields)
    uniqueKey = try Self.uniqueKey(fields, members)
    trimmed = try fields.string("trim").map { $0.split(separator: ".").map(String.init) }
    isPersonal = !patches.isEmpty || uniqueKey != nil
  }

  /// The payload itself, and then one variant for each language.
  mutating func variants() throws(JobError) -> [PayloadVariant] {
    let path = fields.path("payload")
    var variants = [
      PayloadVariant(locale: nil, path: path, value: payload, template: try template(payload, path: path))
    ]
    for patch in patches {
      let value = MergePatch.apply(patch.value, to: payload)
      let path = fields.path("localized." + Excerpt.bare(patch.name))
      variants.append(
        PayloadVariant(locale: patch.name, path: path, value: value, template: try template(value, path: path)))
    }
    measure(&variants)
    if let trimmed, !variants.contains(where: \.template.canShorten) {
      throw fields.error(
        "trim", "\(Excerpt.quoted(trimmed.joined(separator: "."))) is no string of the payload",
        hint: "name one by its path in the payload, such as aps.alert.body")
    }
    return variants
  }

  /// Makes sizes those with what the job says of its recipients: of each variant the largest, as nobody knows here who reads
  /// which language.
  private func measure(_ variants: inout [PayloadVariant]) {
    guard !values.isEmpty, let audience, case .object(let members) = audience.kind,
      let recipients = try? JobRecipient.all(JobFields(members))
    else { return }
    let content = PersonalContent(
      values: values,
      variants: variants.map { .init(locale: LanguageTag.normal($0.locale ?? ""), template: $0.template) })
    var user = PersonalContent.User(content)
    var sealed: [UInt8] = []
    for recipient in recipients {
      guard let json = recipient.values else { continue }
      for number in variants.indices {
        sealed.removeAll(keepingCapacity: true)
        bytes.withUnsafeBytes { bytes in
          content.find(
            &user, values: UnsafeRawBufferPointer(rebasing: bytes[json.range]), attributes: .init(start: nil, count: 0))
          Array((variants[number].locale ?? "").utf8).withUnsafeBytes {
            content.writeValues(of: &user, locale: $0, to: &sealed)
          }
        }
        let known = TargetValues(sealed[...])
        let size = variants[number].template.shortestSize { known[$0]?.count }
        guard size > variants[number].size else { continue }
        (variants[number].size, variants[number].largestFor) = (size, recipient.user)
      }
    }
  }

  private static func patches(_ fields: JobFields) throws(JobError) -> [JSONValue.Member] {
    guard let value = fields.value("localized") else { return [] }
    guard case .object(let patches) = value.kind else {
      throw fields.error("localized", "must be an object with a language each, not \(value.kindName)")
    }
    guard patches.count <= PersonalContent.mostLocales else {
      throw fields.error(
        "localized", "has \(patches.count) languages, at most \(PersonalContent.mostLocales) are possible")
    }
    var seen: Set<[UInt8]> = []
    for patch in patches {
      let name = "localized." + Excerpt.bare(patch.name)
      guard DeviceRowDraft.isLocale(patch.name) else {
        throw fields.error(name, "is no language tag", hint: "write it as en, pt-BR or zh-Hans")
      }
      guard seen.insert(LanguageTag.normal(patch.name)).inserted else {
        throw fields.error(name, "stands there twice: case, and - or _, make no difference", hint: "leave one of them")
      }
      guard case .object = patch.value.kind else {
        throw fields.error(
          name, "must be an object, not \(patch.value.kindName)", hint: "give what differs from payload")
      }
    }
    return patches
  }

  private static func uniqueKey(_ fields: JobFields, _ members: [JSONValue.Member]) throws(JobError) -> String? {
    guard let key = try fields.string("uniqueKey") else { return nil }
    guard PlainName.isValid(key) else {
      throw fields.error("uniqueKey", "\(Excerpt.quoted(key)) can't be a key", hint: "it must be \(PlainName.form)")
    }
    guard !members.contains(where: { $0.name == key }) else {
      throw fields.error("uniqueKey", "the payload has a member \(Excerpt.quoted(key)) already", hint: "name another")
    }
    return key
  }

  // MARK: Templates

  private mutating func template(_ value: JSONValue, path: String) throws(JobError) -> PayloadTemplate {
    var template = PayloadTemplate()
    guard case .object(let members) = value.kind else { return template }
    template.add([UInt8(ascii: "{")])
    try write(members, to: &template, path: path, trimmed: trimmed?[...])
    if let uniqueKey {
      guard !members.contains(where: { $0.name == uniqueKey }) else {
        throw JobError(field: path + "." + uniqueKey, message: "is what uniqueKey names", hint: "name another")
      }
      template.add(Array("\(members.isEmpty ? "" : ",")\"\(uniqueKey)\":\"".utf8))
      template.add(.id)
      template.add([UInt8(ascii: "\"")])
    }
    template.add([UInt8(ascii: "}")])
    return template
  }

  /// - Parameter trimmed: the names from here to the text that may be shortened; `nil` when it is not below.
  private mutating func write(
    _ members: [JSONValue.Member], to template: inout PayloadTemplate, path: String, trimmed: ArraySlice<String>?
  ) throws(JobError) {
    for (index, member) in members.enumerated() {
      if index > 0 { template.add([UInt8(ascii: ",")]) }
      template.add(bytes[member.nameRange])
      template.add([UInt8(ascii: ":")])
      try write(
        member.value, to: &template, path: path + "." + Excerpt.bare(member.name),
        trimmed: trimmed?.first == member.name ? trimmed?.dropFirst() : nil)
    }
  }

  private mutating func write(
    _ value: JSONValue, to template: inout PayloadTemplate, path: String, trimmed: ArraySlice<String>?
  ) throws(JobError) {
    switch value.kind {
    case .object(let members):
      template.add([UInt8(ascii: "{")])
      try write(members, to: &template, path: path, trimmed: trimmed)
      template.add([UInt8(ascii: "}")])
    case .array(let elements):
      template.add([UInt8(ascii: "[")])
      for (index, element) in elements.enumerated() {
        if index > 0 { template.add([UInt8(ascii: ",")]) }
        try write(element, to: &template, path: path + "[\(index)]", trimmed: nil)
      }
      template.add([UInt8(ascii: "]")])
    case .string(let text): try write(text, of: value, to: &template, path: path, isTrimmed: trimmed?.isEmpty == true)
    case .number, .bool, .null: template.add(bytes[value.range])
    }
  }

  private mutating func write(
    _ text: String, of value: JSONValue, to template: inout PayloadTemplate, path: String, isTrimmed: Bool
  ) throws(JobError) {
    let parts: [TemplateText.Part]
    do {
      parts = try TemplateText(text).parts
    } catch {
      throw JobError(field: path, message: error.message, hint: error.hint)
    }
    if parts != (text.isEmpty ? [] : [.text(text)]) { isPersonal = true }
    template.add([UInt8(ascii: "\"")])
    if isTrimmed {
      isPersonal = true
      template.add(.textBegins)
    }
    for part in parts {
      switch part {
      case .text(let text) where parts.count == 1 && text == self.text(of: value):
        // As the producer wrote it.
        template.add(bytes[value.range].dropFirst().dropLast())
      case .text(let text): template.add(JSONWriter.escaped(text))
      case .value(let name, let format, let fallback):
        let place = try place(of: PersonalContent.Value(name: name, format: format), path: path)
        template.add(.value(place), fallback: JSONWriter.escaped(fallback))
      }
    }
    if isTrimmed { template.add(.textEnds) }
    template.add([UInt8(ascii: "\"")])
  }

  private func text(of value: JSONValue) -> String? {
    if case .string(let text) = value.kind { text } else { nil }
  }

  private mutating func place(of value: PersonalContent.Value, path: String) throws(JobError) -> Int {
    if let place = values.firstIndex(of: value) { return place }
    values.append(value)
    guard values.count <= PersonalContent.mostValues else {
      throw JobError(
        field: path, message: "more than \(PersonalContent.mostValues) values in one job",
        hint: "let the backend compose such texts, and give them as one value")
    }
    return values.count - 1
  }
}
