/// Payload of a job for one language and variant, as the job defines it. It is used for the rules of the service and
/// for displays.
public struct PayloadForm: Sendable {
  /// Language tag as written in the job; `nil` for the payload itself.
  public let locale: String?
  /// Payload: an object.
  public let value: JSONValue
  let template: PayloadTemplate
  /// Smallest size in bytes to which the push can be shortened. It is the size with all fallbacks, or with the job's
  /// values of the recipient with the largest push.
  public internal(set) var size: Int
  /// Recipient with the largest size; `nil` if the size is not that of one recipient.
  public internal(set) var largestFor: String?

  init(locale: String?, path: String, value: JSONValue, template: PayloadTemplate) {
    (self.locale, self.path, self.value, self.template) = (locale, path, value, template)
    size = template.shortestSize
  }

  /// Size in bytes if every value is as long as an attribute can be, without shortening. `nil` if the payload has no
  /// values, or if a text may be shortened.
  public var longestSize: Int? {
    guard !template.places.isEmpty, !template.canShorten else { return nil }
    return template.size { _ in DeviceRowDraft.maximumAttributeValue }
  }

  /// Size in bytes without the values.
  public var fixedSize: Int { template.size { _ in 0 } }

  /// Path of the payload in the job.
  public let path: String
}

/// Reader that makes the forms of a job's payload from its source.
struct PayloadReader {
  /// Text of the job.
  private let bytes: [UInt8]
  /// Audience of the job; `nil` for none.
  private let audience: JSONValue?
  /// Values of the placeholders, in the order of their positions. All forms that were read use this list.
  private(set) var values: [PersonalContent.Value] = []
  /// Whether pushes differ from each other because of the content that was read.
  private(set) var isPersonal = false
  /// Increment of each user's badge; `nil` until a payload contains one.
  private(set) var badgeStep: Int?
  /// State of the current form: the key of the push's own id, the key of the campaign's id, and the path of the
  /// payload.
  private var uniqueKey: String?
  private var campaignKey: String?
  private var root = ""
  /// Value of ``campaignKey``.
  private let campaign: String
  /// Service of the push; `nil` if it is not known.
  private let service: (any PushService)?

  /// - Parameters:
  ///   - bytes: the text of the job.
  ///   - campaign: the campaign's id.
  ///   - service: the service of the push, which has a place for the keys; `nil` if it is not known.
  init(in bytes: [UInt8], audience: JSONValue?, campaign: String = "", of service: (any PushService)? = nil) {
    self.bytes = bytes
    self.audience = audience
    self.campaign = campaign
    self.service = service
  }

  /// Returns the payload itself, and then one form for each language. The sizes are those with all fallbacks.
  mutating func forms(of source: ContentSource) throws(JobError) -> [PayloadForm] {
    uniqueKey = source.uniqueKey
    campaignKey = source.campaignKey
    if !source.languages.isEmpty || uniqueKey != nil || campaignKey != nil { isPersonal = true }
    try checkSize(source.payload, path: source.path)
    var forms = [try form(source, nil, source.payload, path: source.path)]
    for language in source.languages {
      for patch in language.patches { try checkSize(patch, path: language.path) }
      let value = language.patches.reduce(source.payload) { MergePatch.apply($1, to: $0) }
      forms.append(try form(source, language.tag, value, path: language.path))
    }
    if source.trimmed != nil, !forms.contains(where: \.template.canShorten) { throw source.nothingToShorten }
    return forms
  }

  private mutating func form(
    _ source: ContentSource, _ locale: String?, _ value: JSONValue, path: String
  ) throws(JobError) -> PayloadForm {
    root = path
    let template = try template(value, path: path, trimmed: source.trimmed)
    return PayloadForm(locale: locale, path: path, value: value, template: template)
  }

  /// Sets the sizes of forms to those with the values that the job contains for its recipients.
  func measure(_ forms: inout [PayloadForm]) {
    guard !values.isEmpty, let audience, case .object(let members) = audience.kind,
      let recipients = try? JobRecipient.all(JobFields(members))
    else { return }
    let content = PersonalContent(values: values, forms: forms.map(PersonalContent.Form.init))
    RecipientSizes(content, in: bytes, of: recipients).measure(&forms)
  }

  // MARK: Limits

  /// Maximum size in bytes of a payload, or of the changes for one language, without white space. No push service
  /// accepts a third of this. The limit bounds the work for a job with many languages and variants.
  static let mostBytes = 16_384

  private func checkSize(_ value: JSONValue, path: String) throws(JobError) {
    guard value.range.count > Self.mostBytes else { return }
    let size = JSONValue.minified(bytes[value.range]).count
    guard size > Self.mostBytes else { return }
    throw JobError(
      field: path, message: "has \(size) bytes, more than the limit of \(Self.mostBytes) for a push",
      hint: "send an id, and let the app fetch the rest")
  }

  // MARK: Templates

  private mutating func template(
    _ value: JSONValue, path: String, trimmed: [String]?
  ) throws(JobError) -> PayloadTemplate {
    var template = PayloadTemplate()
    guard case .object(let members) = value.kind else { return template }
    let place = uniqueKey == nil && campaignKey == nil ? nil : service?.keyPlace(in: value) ?? []
    try write(members, to: &template, path: path, trimmed: trimmed?[...], keys: place?[...])
    return template
  }

  /// Writes an object.
  ///
  /// - Parameters:
  ///   - trimmed: the names from here to the text that may be shortened; `nil` if that text is not below this object.
  ///   - place: the names from here to the object that gets the keys; `nil` if it is not below this object.
  private mutating func write(
    _ members: [JSONValue.Member], to template: inout PayloadTemplate, path: String, trimmed: ArraySlice<String>?,
    keys place: ArraySlice<String>?
  ) throws(JobError) {
    template.add([UInt8(ascii: "{")])
    for (index, member) in members.enumerated() {
      if index > 0 { template.add([UInt8(ascii: ",")]) }
      template.add(bytes[member.nameRange])
      template.add([UInt8(ascii: ":")])
      try write(
        member.value, to: &template, path: path + "." + Excerpt.bare(member.name),
        trimmed: trimmed?.first == member.name ? trimmed?.dropFirst() : nil,
        keys: place?.first == member.name ? place?.dropFirst() : nil)
    }
    if let place, place.isEmpty {
      try writeKeys(beside: members, to: &template, path: path)
    } else if let name = place?.first, !members.contains(where: { $0.name == name }) {
      template.add(Array("\(members.isEmpty ? "" : ",")\"\(name)\":".utf8))
      try write([], to: &template, path: path + "." + name, trimmed: nil, keys: place?.dropFirst())
    }
    template.add([UInt8(ascii: "}")])
  }

  private func writeKeys(
    beside members: [JSONValue.Member], to template: inout PayloadTemplate, path: String
  ) throws(JobError) {
    var isFirst = members.isEmpty
    for (field, key) in [("uniqueKey", uniqueKey), ("campaignKey", campaignKey)] {
      guard let key else { continue }
      guard !members.contains(where: { $0.name == key }) else {
        throw JobError(field: path + "." + key, message: "is the key in \(field)", hint: "choose another name")
      }
      template.add(Array("\(isFirst ? "" : ",")\"\(key)\":\"".utf8))
      if field == "uniqueKey" { template.add(.id) } else { template.add(Array(campaign.utf8)) }
      template.add([UInt8(ascii: "\"")])
      isFirst = false
    }
  }

  private mutating func write(
    _ value: JSONValue, to template: inout PayloadTemplate, path: String, trimmed: ArraySlice<String>?,
    keys place: ArraySlice<String>?
  ) throws(JobError) {
    switch value.kind {
    case .object(let members): try write(members, to: &template, path: path, trimmed: trimmed, keys: place)
    case .array(let elements):
      template.add([UInt8(ascii: "[")])
      for (index, element) in elements.enumerated() {
        if index > 0 { template.add([UInt8(ascii: ",")]) }
        try write(element, to: &template, path: path + "[\(index)]", trimmed: nil, keys: nil)
      }
      template.add([UInt8(ascii: "]")])
    // Only `aps.badge` at the top of the payload counts. A member with this name at another place belongs to the app.
    case .string(let text)
    where path.hasSuffix(".aps.badge") && path.utf8.count == root.utf8.count + 10 && BadgeStep.read(text) != nil:
      let step = BadgeStep.read(text)
      guard badgeStep == nil || badgeStep == step else {
        throw JobError(
          field: path, message: "differs from the badge step in the rest of the job",
          hint: "use the same step everywhere: a user has one badge count for all languages")
      }
      badgeStep = step
      isPersonal = true
      template.add(.badge, fallback: Array(text.utf8.dropFirst()))
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
        // The text is copied as the producer wrote it.
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
        hint: "compose such texts in your backend, and send them as one value")
    }
    return values.count - 1
  }
}
