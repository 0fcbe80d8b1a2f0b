/// A language tag (RFC 5646) in the form that Carillon compares and stores.
///
/// ``init(_:)`` reads what phones write: `zh_TW`, `en_US@calendar=japanese`, `iw`, `zh_TW_#Hant`, `de_DE.UTF-8`. Former codes
/// become current ones. Extensions and private subtags are dropped. The value holds numbers only, so that expansion
/// compares tags without allocating memory.
public struct LanguageTag: Hashable, Sendable {
  /// Two or three small letters, packed.
  private(set) var language: UInt32
  /// Four letters, packed. CLDR's likely script where the text names none.
  private(set) var script: UInt32
  /// Whether the text names the script.
  private(set) var isScriptGiven = false
  /// Two capitals or three digits, packed; 0 for none.
  private(set) var region: UInt32 = 0
  /// The first variant in small letters, packed; 0 for none. Further variants are dropped.
  private(set) var variant: UInt64 = 0

  /// The most bytes of a text that is read. The longest identifier of ICU's list has 11 bytes, and a calendar adds 20.
  static let mostBytes = 64

  /// - Parameter text: a tag as a phone writes it, in UTF-8.
  /// - Returns: `nil` for a text that does not have the form of a tag. The language need not be a known one.
  init?(_ text: some Collection<UInt8>) {
    guard let parts = LanguageSubtags(text) else { return nil }
    (language, script, region, variant) = (parts.language, parts.script, parts.region, parts.variant)
    if let alias = LanguageIndex.shared.alias(ofLanguage: language) {
      language = alias.language
      if script == 0 { script = alias.script }
      if region == 0 { region = alias.region }
    }
    region = LanguageIndex.shared.region(region)
    isScriptGiven = script != 0
    if script == 0 { script = LanguageIndex.shared.likelyScript(of: language, in: region) }
  }

  /// Memberwise, for the tables.
  init(_ parts: LanguageSubtags) {
    (language, script, region, variant) = (parts.language, parts.script, parts.region, parts.variant)
  }

  /// Whether CLDR lists the language, or ISO 639-2 leaves its code to private use: `qaa` to `qtz`.
  var isKnown: Bool { Self.privateUse ~= language || LanguageIndex.shared.isKnown(language) }

  private static let privateUse: ClosedRange<UInt32> = 0x71_61_61...0x71_74_7A

  // MARK: Matching

  /// Whether two tags mean the same locale: `zh-TW` and `zh-Hant-TW` do.
  func isSame(as other: LanguageTag) -> Bool {
    language == other.language && script == other.script && region == other.region && variant == other.variant
  }

  /// Whether two tags are of one language in one script.
  func isOfSameScript(as other: LanguageTag) -> Bool { language == other.language && script == other.script }

  /// The same locale, with its script named where this tag leaves it out, and the other way round.
  var writtenOtherwise: LanguageTag {
    var tag = self
    tag.isScriptGiven.toggle()
    return tag
  }

  /// The next locale that a text is looked for in: CLDR's parent locale. `nil` behind the last one.
  ///
  /// `es-MX` has the parent `es-419`, and `zh-TW` has `zh-Hant`. A language in another than its likely script has no
  /// parent: readers of `zh-Hant` may not read `zh-Hans`.
  var parent: LanguageTag? {
    var tag = self
    if variant != 0 {
      tag.variant = 0
      return tag
    }
    if let parent = LanguageIndex.shared.parent(of: self) {
      (tag.language, tag.script, tag.region) = (parent.language, parent.script, parent.region)
      return tag
    }
    guard region != 0 else { return nil }
    tag.region = 0
    return tag
  }

  /// Returns the place of the tag that is nearest to this one: its own, or that of its first parent that has one.
  ///
  /// Where two tags mean the same locale, such as `zh` and `zh-Hans`, the one that is written like this tag is taken. A tag
  /// with its likely region stands for the tag without a region: `zh-TW` is what `zh-HK` finds where there is no `zh-Hant`.
  ///
  /// - Parameters:
  ///   - tags: the tags to choose from.
  ///   - tag: the tag of an element; `nil` for an element that has none.
  func nearest<Tags: RandomAccessCollection>(in tags: Tags, _ tag: (Tags.Element) -> LanguageTag?) -> Tags.Index? {
    var wanted: LanguageTag? = self
    while let current = wanted {
      var found: Tags.Index?
      for index in tags.indices {
        guard let other = tag(tags[index]), current.isSame(as: other) else { continue }
        if other.isScriptGiven == current.isScriptGiven { return index }
        found = found ?? index
      }
      if let found { return found }
      if let likely = current.withLikelyRegion,
        let index = tags.indices.first(where: { tag(tags[$0])?.isSame(as: likely) ?? false })
      {
        return index
      }
      wanted = current.parent
    }
    return nil
  }

  /// A tag without a region, with its likely region.
  private var withLikelyRegion: LanguageTag? {
    guard region == 0, variant == 0, let region = LanguageIndex.shared.likelyRegion(of: language, in: script) else {
      return nil
    }
    var tag = self
    tag.region = region
    return tag
  }

  /// Whether this tag is in a language range (RFC 4647, section 3.3.1), or has it as a parent locale: `zh-TW` is in `zh` and
  /// `zh-Hant`, `es-MX` is in `es-419`.
  func isIn(_ range: LanguageTag) -> Bool {
    guard language == range.language else { return false }
    if (script == range.script || !range.isScriptGiven && range.region == 0 && range.variant == 0)
      && (range.region == 0 || region == range.region) && (range.variant == 0 || variant == range.variant)
    {
      return true
    }
    guard range.variant == 0, LanguageIndex.shared.hasChildren(range) else { return false }
    var next = parent
    while let current = next {
      if current.isSame(as: range) { return true }
      next = current.parent
    }
    return false
  }
}

extension LanguageTag: CustomStringConvertible {
  /// The tag as RFC 5646 writes it: `zh-Hant-TW`. The likely script is left out.
  public var description: String {
    var text = LanguageSubtags.text(UInt64(language))
    if isScriptGiven { text += "-" + LanguageSubtags.text(UInt64(script)) }
    if region != 0 { text += "-" + LanguageSubtags.text(UInt64(region)) }
    if variant != 0 { text += "-" + LanguageSubtags.text(variant) }
    return text
  }
}
