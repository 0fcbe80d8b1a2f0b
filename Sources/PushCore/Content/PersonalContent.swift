/// What the pushes of a campaign say that are not all the same: which variant, in whose language, with whose values.
///
/// What a target gets is decided where it is expanded, once, and sealed with it (``TargetValues``); what its push says is
/// made of that where it is sent.
public struct PersonalContent: Sendable, Equatable {
  /// The payload in one form.
  struct Form: Sendable, Equatable {
    /// The language tag in small letters with `-`; empty for whoever has none of the others.
    var locale: [UInt8]
    var template: PayloadTemplate

    init(locale: [UInt8], template: PayloadTemplate) { (self.locale, self.template) = (locale, template) }

    init(_ form: PayloadForm) {
      self.init(locale: LanguageTag.normal(form.locale ?? ""), template: form.template)
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
    /// How numbers and dates are written in the language that was asked for last: the next user's is often the same.
    fileprivate var language: (tag: [UInt8], place: Int?) = ([], nil)

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
    let form = variants?.number(of: variant, locale) ?? form(for: locale)
    bytes.append(UInt8(form >> 8))
    bytes.append(UInt8(form & 0xff))
    if hasFormats, !locale.elementsEqual(user.language.tag) {
      user.language = (Array(locale), LocaleConvention.place(for: locale))
    }
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

  /// The form for a language tag, where all users are told the same.
  private func form(for locale: UnsafeRawBufferPointer) -> Int {
    guard forms.count > 1 else { return 0 }
    return LanguageTag.lookup(locale) { range in forms.firstIndex { LanguageTag.isSame(range, $0.locale) } } ?? 0
  }

  // MARK: Looking

  /// Bytes that a target takes more for it, at a guess: values are a word or two.
  public var bytesPerTarget: Int { needsTarget ? 4 + values.count * 12 : 0 }
}

/// Language tags (RFC 5646) as devices and jobs write them: in any case, and with `_` as well as `-`.
enum LanguageTag {
  /// In small letters, with `-`.
  static func normal(_ tag: String) -> [UInt8] { tag.utf8.map(normal) }

  static func isSame(_ tag: Slice<UnsafeRawBufferPointer>, _ normalTag: [UInt8]) -> Bool {
    tag.count == normalTag.count && zip(tag, normalTag).allSatisfy { normal($0) == $1 }
  }

  /// What there is for a tag itself, or else for the tag without its last subtag, and so on (RFC 4647 section 3.4, lookup);
  /// `nil` for nothing.
  static func lookup(
    _ tag: UnsafeRawBufferPointer, _ place: (Slice<UnsafeRawBufferPointer>) -> Int?
  ) -> Int? {
    var range = tag[...]
    while !range.isEmpty {
      if let place = place(range) { return place }
      range = withoutLast(range)
    }
    return nil
  }

  /// The tag without its last subtag, and without a single letter that stands before it: that begins a private part or an
  /// extension, and says nothing by itself.
  static func withoutLast(_ tag: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    guard let dash = tag.lastIndex(where: { normal($0) == UInt8(ascii: "-") }) else { return tag[..<tag.startIndex] }
    let rest = tag[..<dash]
    guard rest.count >= 2, normal(rest[rest.endIndex - 2]) == UInt8(ascii: "-") else { return rest }
    return rest[..<(rest.endIndex - 2)]
  }

  private static func normal(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
    case UInt8(ascii: "_"): UInt8(ascii: "-")
    default: byte
    }
  }
}
