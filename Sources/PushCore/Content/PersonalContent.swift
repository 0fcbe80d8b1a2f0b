/// Content of a campaign whose pushes differ between targets in variant, language or the values of placeholders.
///
/// The worker that expands a slice chooses the variant, language and values of each target once. It stores this choice
/// in the sealed list of targets (``TargetValues``). The worker that sends the push renders the payload from the stored
/// choice.
public struct PersonalContent: Sendable, Equatable {
  /// Form of the payload: the payload for one language and variant.
  struct Form: Sendable, Equatable {
    /// The language; `nil` for the payload without the changes of any language.
    var locale: LanguageTag?
    var template: PayloadTemplate

    init(locale: LanguageTag?, template: PayloadTemplate) { (self.locale, self.template) = (locale, template) }

    init(_ form: PayloadForm) {
      self.init(locale: form.locale.flatMap { LanguageTag($0.utf8) }, template: form.template)
    }
  }

  /// Value that a placeholder names.
  struct Value: Sendable, Hashable {
    /// Name of an attribute of the user, or of a value that the job contains for the recipient.
    var name: String
    /// Format of the value; `nil` to copy it.
    var format: ValueFormat?
  }

  /// Values of all placeholders, each once. Other types name a value by its position in this list.
  let values: [Value]
  /// Names of ``values``, each once.
  public let names: [String]
  /// ``names``, escaped as in JSON strings.
  private let quoted: [[UInt8]]
  /// For each of ``values``, the position of its name in ``names``.
  private let sources: [Int]
  private let hasFormats: Bool
  private let needsLanguage: Bool
  /// Forms of the payload: first all forms of the first variant, then those of the second variant, and so on. The first
  /// form of a variant is the payload without the changes of any language.
  private(set) var forms: [Form]
  /// Assignment of ``forms`` to variants; `nil` for a campaign without variants.
  private let variants: VariantForms?
  /// Increment of each user's badge; 0 for none.
  public internal(set) var badgeStep: Int

  /// Maximum number of languages of a campaign, in addition to the payload without changes.
  static let maximumLocales = 255
  /// Maximum number of placeholder values of a campaign. Redis stores each value with every target.
  static let maximumValues = 32

  /// Creates the content of a campaign without variants.
  init(values: [Value], forms: [Form], badgeStep: Int = 0) {
    self.init(values: values, forms: forms, variants: nil, badgeStep: badgeStep)
  }

  /// Creates the content of a campaign with variants.
  ///
  /// - Parameter variants: the forms of each variant; at least one.
  init(values: [Value], variants: [[Form]], badgeStep: Int = 0) {
    self.init(
      values: values, forms: variants.flatMap { $0 }, variants: VariantForms(variants.map { $0.map(\.locale) }),
      badgeStep: badgeStep)
  }

  private init(values: [Value], forms: [Form], variants: VariantForms?, badgeStep: Int) {
    self.values = values
    self.badgeStep = badgeStep
    var names: [String] = []
    for value in values where !names.contains(value.name) { names.append(value.name) }
    sources = values.map { value in names.firstIndex(of: value.name) ?? 0 }
    hasFormats = values.contains { $0.format != nil }
    needsLanguage = hasFormats || forms.count > 1
    self.names = names
    quoted = names.map(JSONWriter.escaped)
    self.forms = forms
    self.variants = variants
  }

  // MARK: Templates of a service

  /// Creates content that is the same for all pushes.
  ///
  /// - Parameter payload: JSON without insignificant white space.
  public init(payload: [UInt8]) {
    var template = PayloadTemplate()
    template.add(payload)
    self.init(values: [], forms: [Form(locale: nil, template: template)])
  }

  /// Replaces the template of each form, for a service that adds its own members to the payload.
  public mutating func mapTemplates(_ change: (PayloadTemplate) -> PayloadTemplate) {
    for index in forms.indices { forms[index].template = change(forms[index].template) }
  }

  /// Whether a form contains the push's own id.
  public var containsID: Bool { forms.contains { $0.template.pieces.contains { $0.slot == .id } } }

  /// Size in bytes of the largest form, with the fallbacks of all placeholders.
  public var largestSize: Int { forms.map(\.template.size).max() ?? 0 }

  /// Whether the content depends on the target.
  public var needsTarget: Bool { forms.count > 1 || !values.isEmpty || variants != nil }

  /// Returns the variant that is sealed with a target, as its position in ``CampaignVariants/places``; `nil` if the
  /// campaign has no variants.
  public func variant(of values: TargetValues) -> Int? {
    guard let variants else { return nil }
    let place = values.form / variants.languages.count
    return CampaignVariants.places.contains(place) ? place : 0
  }

  /// Number of languages of all variants together; `nil` without variants. With this number, the variant can be read
  /// from the form number of a target (``VariantForms``).
  public var variantLanguages: Int? { variants?.languages.count }

  /// Writes the payload of one push.
  ///
  /// - Parameters:
  ///   - values: the values that are sealed with the target.
  ///   - id: the id of the push.
  ///   - lifetime: seconds until the push expires; used only if the template contains the lifetime.
  ///   - most: maximum size of a payload in bytes.
  ///   - payload: the buffer to which the payload is appended.
  /// - Returns: whether the payload fits in `most`. If not, nothing is appended.
  public func write(
    _ values: TargetValues, id: (high: UInt64, low: UInt64), lifetime: Int = 0, most: Int, to payload: inout [UInt8]
  ) -> Bool {
    // Workers never write a number outside the range. Such a number selects the first form.
    let number = variants?.form(values) ?? values.form
    return forms[forms.indices.contains(number) ? number : 0].template
      .write(values, id: id, lifetime: lifetime, most: most, to: &payload)
  }

  // MARK: Expansion

  /// Values that were found for a user. They are looked up once for all devices of the user.
  public struct User {
    fileprivate var found: [UnsafeRawBufferPointer?]
    /// Cache: the language of the last device, and the language's position in ``LocaleConvention/table``. The next
    /// device often has the same language.
    fileprivate var language: (text: [UInt8], tag: LanguageTag?, place: Int?) = ([], nil, nil)

    /// - Parameter content: the content whose values are looked up; `nil` for none.
    public init(_ content: PersonalContent?) { found = Array(repeating: nil, count: content?.names.count ?? 0) }
  }

  /// Looks up the values of a user.
  ///
  /// - Parameters:
  ///   - user: receives the values. The result refers to the bytes of `values` and `attributes`, and is valid only as
  ///     long as these bytes.
  ///   - values: the job's values for the user, a JSON object; empty for none. They take precedence over attributes.
  ///   - attributes: the user's attributes, a JSON object; empty for none.
  public func find(_ user: inout User, values: UnsafeRawBufferPointer, attributes: UnsafeRawBufferPointer) {
    guard !names.isEmpty else { return }
    for place in user.found.indices { user.found[place] = nil }
    AttributeScan.find(quoted, in: values, &user.found)
    AttributeScan.find(quoted, in: attributes, &user.found)
  }

  /// Appends the values of a target in the form that ``TargetValues`` reads.
  ///
  /// - Parameters:
  ///   - user: the values that were found for the user.
  ///   - locale: the device's language tag; empty if it is unknown.
  ///   - variant: the position of the user's variant.
  public func writeValues(
    of user: inout User, locale: UnsafeRawBufferPointer, variant: Int = 0, to bytes: inout [UInt8]
  ) {
    if needsLanguage, !locale.elementsEqual(user.language.text) {
      let tag = LanguageTag(locale)
      user.language = (Array(locale), tag, hasFormats ? LocaleConvention.index(for: tag) : nil)
    }
    let form = variants?.number(of: variant, user.language.tag) ?? form(for: user.language.tag)
    bytes.append(UInt8(form >> 8))
    bytes.append(UInt8(form & 0xff))
    for place in values.indices {
      let start = bytes.count
      // The length `missing` marks a missing value. Every real value is shorter.
      bytes.append(UInt8(TargetValues.missing >> 8))
      bytes.append(UInt8(TargetValues.missing & 0xff))
      guard let value = user.found[sources[place]], value.count < TargetValues.missing else { continue }
      if let format = values[place].format {
        let convention = user.language.place.map { LocaleConvention.table[$0] } ?? .neutral
        format.write(value, by: convention, to: &bytes)
      } else {
        bytes.append(contentsOf: value)
      }
      let length = bytes.count - start - 2
      bytes[start] = UInt8(length >> 8)
      bytes[start + 1] = UInt8(length & 0xff)
    }
  }

  /// Returns the position of the form for a language, in a campaign without variants.
  private func form(for tag: LanguageTag?) -> Int {
    guard forms.count > 1 else { return 0 }
    return tag?.nearest(in: forms, \.locale) ?? 0
  }

  // MARK: Estimates

  /// Estimated number of bytes that the content adds to a target. A value usually has one or two words.
  public var bytesPerTarget: Int { needsTarget ? 4 + values.count * 12 : 0 }
}
