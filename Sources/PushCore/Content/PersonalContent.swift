/// What the pushes of a campaign say that are not all the same: which variant, in whose language, with whose values.
///
/// What a target gets is decided where it is expanded, once, and sealed with it (``TargetValues``); what its push says is
/// made of that where it is sent.
public struct PersonalContent: Sendable, Equatable {
  /// The payload in one form.
  struct Form: Sendable, Equatable {
    /// The language; `nil` for the payload itself.
    var locale: LanguageTag?
    var template: PayloadTemplate

    init(locale: LanguageTag?, template: PayloadTemplate) { (self.locale, self.template) = (locale, template) }

    init(_ form: PayloadForm) {
      self.init(locale: form.locale.flatMap { LanguageTag($0.utf8) }, template: form.template)
    }
  }

  /// What a placeholder stands for.
  struct Value: Sendable, Hashable {
    /// Of an attribute of the user, or of what the job says of the recipient.
    var name: String
    /// `nil` for as it is.
    var format: ValueFormat?
  }

  /// The values that it asks for, each once, in their places.
  let values: [Value]
  /// The names in them, each once.
  public let names: [String]
  /// The same as they stand in JSON strings.
  private let quoted: [[UInt8]]
  /// For each of ``values`` its place in ``names``.
  private let sources: [Int]
  private let hasFormats: Bool
  private let needsLanguage: Bool
  /// The first is the payload itself; of several variants one behind the other.
  let forms: [Form]
  /// Which of them each variant has; `nil` where all users are told the same.
  private let variants: VariantForms?
  /// What is added to each user's badge; 0 for nothing.
  public let badgeStep: Int

  /// The most languages that a campaign has beside the payload itself.
  static let mostLocales = 255
  /// The most values that a campaign asks for: each costs every target some bytes.
  static let mostValues = 32

  /// The content of a campaign that tells all users the same.
  init(values: [Value], forms: [Form], badgeStep: Int = 0) {
    self.init(values: values, forms: forms, variants: nil, badgeStep: badgeStep)
  }

  /// The content of a campaign with variants.
  ///
  /// - Parameter variants: the forms of each, at least one.
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

  /// Whether it depends on the target, and not only on the push, what it says.
  public var needsTarget: Bool { forms.count > 1 || !values.isEmpty || variants != nil }

  /// The place of the variant that a target gets, as sealed with it: in ``CampaignVariants/places``. `nil` where there are
  /// none.
  public func variant(of values: TargetValues) -> Int? {
    guard let variants else { return nil }
    let place = values.form / variants.languages.count
    return CampaignVariants.places.contains(place) ? place : 0
  }

  /// How many languages there are of all variants together: what numbers the forms of targets; `nil` without variants.
  public var variantLanguages: Int? { variants?.languages.count }

  /// Writes the payload of one push.
  ///
  /// - Parameters:
  ///   - values: of the target, as sealed with it.
  ///   - id: of the push.
  ///   - most: bytes that a payload may have.
  ///   - payload: where it is appended.
  /// - Returns: whether it is within `most`; otherwise nothing was appended.
  public func write(
    _ values: TargetValues, id: (high: UInt64, low: UInt64), most: Int, to payload: inout [UInt8]
  ) -> Bool {
    // A number that nothing of ours has written is as good as none.
    let number = variants?.form(values) ?? values.form
    return forms[forms.indices.contains(number) ? number : 0].template.write(values, id: id, most: most, to: &payload)
  }

  // MARK: Expansion

  /// Looks up what is known of a user, once for all devices.
  public struct User {
    fileprivate var found: [UnsafeRawBufferPointer?]
    /// The language of the last device, and its place in ``LocaleConvention/table``. The next device often has the same.
    fileprivate var language: (text: [UInt8], tag: LanguageTag?, place: Int?) = ([], nil, nil)

    /// - Parameter content: whose values are looked up.
    public init(_ content: PersonalContent) { found = Array(repeating: nil, count: content.names.count) }
  }

  /// - Parameters:
  ///   - user: gets them; valid as long as the bytes are.
  ///   - values: what the job says of the user, a JSON object; nothing where it says nothing. They come first.
  ///   - attributes: the user's, likewise.
  public func find(_ user: inout User, values: UnsafeRawBufferPointer, attributes: UnsafeRawBufferPointer) {
    guard !names.isEmpty else { return }
    for place in user.found.indices { user.found[place] = nil }
    AttributeScan.find(quoted, in: values, &user.found)
    AttributeScan.find(quoted, in: attributes, &user.found)
  }

  /// Appends what it has to know of a target, as ``TargetValues`` read it.
  ///
  /// - Parameters:
  ///   - user: as found.
  ///   - locale: the device's language tag; none where nobody said.
  ///   - variant: the place of the user's.
  public func writeValues(
    of user: inout User, locale: UnsafeRawBufferPointer, variant: Int = 0, to bytes: inout [UInt8]
  ) {
    if needsLanguage, !locale.elementsEqual(user.language.text) {
      let tag = LanguageTag(locale)
      user.language = (Array(locale), tag, hasFormats ? LocaleConvention.place(for: tag) : nil)
    }
    let form = variants?.number(of: variant, user.language.tag) ?? form(for: user.language.tag)
    bytes.append(UInt8(form >> 8))
    bytes.append(UInt8(form & 0xff))
    for place in values.indices {
      let start = bytes.count
      // No value is nearly as long as the length that says that there is none.
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

  /// The place of the form for a language, where all users get the same variant.
  private func form(for tag: LanguageTag?) -> Int {
    guard forms.count > 1 else { return 0 }
    return tag?.nearest(in: forms, \.locale) ?? 0
  }

  // MARK: Looking

  /// Bytes that a target takes more for it, at a guess: values are a word or two.
  public var bytesPerTarget: Int { needsTarget ? 4 + values.count * 12 : 0 }
}
