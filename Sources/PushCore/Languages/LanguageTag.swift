/// Language tag (RFC 5646) in the form that Carillon compares and stores.
///
/// ``init(_:)`` reads the tags of phones: `zh_TW`, `en_US@calendar=japanese`, `iw`, `zh_TW_#Hant`, `de_DE.UTF-8`.
/// Former codes become current ones. Extensions and private subtags are dropped. The value contains only numbers, so
/// that expansion compares tags without allocating memory.
public struct LanguageTag: Hashable, Sendable {
  /// Two or three small letters, packed into an integer with eight bits for each letter.
  private(set) var language: UInt32
  /// Four letters, packed. If the text names no script, this is the likely script of CLDR.
  private(set) var script: UInt32
  /// Whether the text names the script.
  private(set) var isScriptGiven = false
  /// Two capitals or three digits, packed; 0 for none.
  private(set) var region: UInt32 = 0
  /// The first variant in small letters, packed; 0 for none. Further variants are dropped.
  private(set) var variant: UInt64 = 0

  /// Maximum length of a text in bytes. The longest locale identifier in ICU's list has 11 bytes, and a calendar adds
  /// 20 bytes.
  static let maximumBytes = 64

  /// - Parameter text: a tag as a phone writes it, in UTF-8.
  /// - Returns: `nil` for a text that does not have the form of a tag. The language may be unknown.
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

  /// Creates an instance from subtags of ``LanguageTable``.
  init(_ parts: LanguageSubtags) {
    (language, script, region, variant) = (parts.language, parts.script, parts.region, parts.variant)
  }

  /// Whether CLDR lists the language, or ISO 639-2 leaves its code to private use: `qaa` to `qtz`.
  var isKnown: Bool { Self.privateUse ~= language || LanguageIndex.shared.isKnown(language) }

  private static let privateUse: ClosedRange<UInt32> = 0x71_61_61...0x71_74_7A

  // MARK: Matching

  /// Returns whether two tags mean the same locale, such as `zh-TW` and `zh-Hant-TW`.
  func isSame(as other: LanguageTag) -> Bool {
    language == other.language && script == other.script && region == other.region && variant == other.variant
  }

  /// Returns whether two tags have the same language and script.
  func isOfSameScript(as other: LanguageTag) -> Bool { language == other.language && script == other.script }

  /// Tag for the same locale in the other notation: with the script if this tag omits the script, and without the
  /// script if this tag contains it.
  var writtenOtherwise: LanguageTag {
    var tag = self
    tag.isScriptGiven.toggle()
    return tag
  }

  /// Parent locale of CLDR, the next locale in a search; `nil` for the last one.
  ///
  /// `es-MX` has the parent `es-419`, and `zh-TW` has `zh-Hant`. A language in a script other than its likely one has
  /// no parent: readers of `zh-Hant` may be unable to read `zh-Hans`.
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

  /// Returns the position of the nearest tag: this tag itself, or its first parent that the list contains.
  ///
  /// If two tags in the list mean the same locale, such as `zh` and `zh-Hans`, the function prefers the tag in the
  /// notation of this tag. If the list lacks a tag without a region, the tag with the likely region replaces it:
  /// `zh-HK` finds `zh-TW` if there is no `zh-Hant`.
  ///
  /// - Parameters:
  ///   - tags: the tags to choose from.
  ///   - tag: returns the tag of an element; `nil` for an element without one.
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

  /// This tag with its likely region, if it has no region.
  private var withLikelyRegion: LanguageTag? {
    guard region == 0, variant == 0, let region = LanguageIndex.shared.likelyRegion(of: language, in: script) else {
      return nil
    }
    var tag = self
    tag.region = region
    return tag
  }

  /// Returns whether this tag belongs to a language range (RFC 4647, section 3.3.1), or the range is a parent locale of
  /// this tag. For example, `zh-TW` is in `zh` and `zh-Hant`, and `es-MX` is in `es-419`.
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
  /// The tag in the notation of RFC 5646: `zh-Hant-TW`. A likely script that the text did not name is omitted.
  public var description: String {
    var text = LanguageSubtags.text(UInt64(language))
    if isScriptGiven { text += "-" + LanguageSubtags.text(UInt64(script)) }
    if region != 0 { text += "-" + LanguageSubtags.text(UInt64(region)) }
    if variant != 0 { text += "-" + LanguageSubtags.text(variant) }
    return text
  }
}
