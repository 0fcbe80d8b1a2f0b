/// Lookup of languages, scripts and regions in the tables of ``LanguageTable``. The tables are sorted, so that a search
/// allocates no memory.
struct LanguageIndex: Sendable {
  /// Sorted table with a value for each key.
  private struct Sorted<Value: Sendable>: Sendable {
    private let keys: [UInt64]
    private let values: [Value]

    init(_ pairs: [(key: UInt64, value: Value)]) {
      let sorted = pairs.sorted { $0.key < $1.key }
      (keys, values) = (sorted.map(\.key), sorted.map(\.value))
    }

    subscript(key: UInt64) -> Value? {
      var (low, high) = (0, keys.count)
      while low < high {
        let middle = (low + high) / 2
        if keys[middle] < key { low = middle + 1 } else { high = middle }
      }
      return low < keys.count && keys[low] == key ? values[low] : nil
    }
  }

  private let languages: Sorted<Void>
  private let languageAliases: Sorted<LanguageSubtags>
  private let regionAliases: Sorted<UInt32>
  private let scripts: Sorted<UInt32>
  private let regionScripts: Sorted<UInt32>
  private let regions: Sorted<UInt32>
  private let parents: Sorted<LanguageSubtags>
  private let hasChildren: Sorted<Void>

  static let shared = LanguageIndex()
  /// `Latn`, the script of a language that is not in the tables.
  private static let latin: UInt32 = 0x4C61_746E

  private init() {
    languages = Sorted(Self.words(LanguageTable.languages).map { (UInt64(Self.subtags($0).language), ()) })
    languageAliases = Sorted(
      Self.pairs(LanguageTable.languageAliases).map { (UInt64(Self.subtags($0).language), Self.subtags($1)) })
    regionAliases = Sorted(
      Self.pairs(LanguageTable.regionAliases).map { (UInt64(Self.region($0)), Self.region($1)) })
    scripts = Sorted(
      Self.pairs(LanguageTable.scripts).map { (UInt64(Self.subtags($0).language), Self.script($1)) })
    regionScripts = Sorted(
      Self.pairs(LanguageTable.regionScripts).map { text, script in
        let tag = Self.subtags(text)
        return (Self.key(tag.language, tag.region), Self.script(script))
      })
    regions = Sorted(
      Self.pairs(LanguageTable.regions).map { text, region in
        let tag = Self.subtags(text)
        return (Self.key(tag.language, tag.script), Self.region(region))
      })
    let parents = Self.pairs(LanguageTable.parents).map { (Self.subtags($0), Self.subtags($1)) }
    self.parents = Sorted(parents.map { (Self.key(of: LanguageTag($0)), $1) })
    hasChildren = Sorted(parents.map { (Self.key(of: LanguageTag($1)), ()) })
  }

  func isKnown(_ language: UInt32) -> Bool { languages[UInt64(language)] != nil }

  func alias(ofLanguage language: UInt32) -> LanguageSubtags? { languageAliases[UInt64(language)] }

  /// Returns the current code of a region.
  func region(_ region: UInt32) -> UInt32 { regionAliases[UInt64(region)] ?? region }

  func likelyScript(of language: UInt32, in region: UInt32) -> UInt32 {
    if region != 0, let script = regionScripts[Self.key(language, region)] { return script }
    return scripts[UInt64(language)] ?? Self.latin
  }

  /// Returns the most likely region of a language in a script; `nil` if CLDR names none.
  func likelyRegion(of language: UInt32, in script: UInt32) -> UInt32? {
    if let region = regions[Self.key(language, script)] { return region }
    return script == likelyScript(of: language, in: 0) ? regions[Self.key(language, 0)] : nil
  }

  /// Returns the parent that `parentLocales` names for a locale; `nil` if it names none.
  func parent(of tag: LanguageTag) -> LanguageSubtags? { parents[Self.key(of: tag)] }

  /// Returns whether `parentLocales` names a locale as a parent.
  func hasChildren(_ tag: LanguageTag) -> Bool { hasChildren[Self.key(of: tag)] != nil }

  /// Codes of all languages, for suggestions.
  var codes: [String] { Self.words(LanguageTable.languages) }

  // MARK: Keys

  /// Returns the key of a language with a region or a script.
  private static func key(_ language: UInt32, _ other: UInt32) -> UInt64 { UInt64(language) << 32 | UInt64(other) }

  /// Returns the key of a tag. The language takes 24 bits and the region 24 bits. The script is reduced to the
  /// remaining 15 bits, which are enough to distinguish the scripts of one language.
  private static func key(of tag: LanguageTag) -> UInt64 {
    UInt64(tag.language) << 40 | UInt64(tag.script % 0x7FFF) << 24 | UInt64(tag.region)
  }

  // MARK: Reading

  private static func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }

  private static func pairs(_ text: String) -> [(String, String)] {
    words(text).compactMap { word in
      let parts = word.split(separator: "=")
      return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
    }
  }

  private static func subtags(_ text: String) -> LanguageSubtags { LanguageSubtags(text.utf8) ?? .none }
  private static func region(_ text: String) -> UInt32 { subtags("xx-" + text).region }
  private static func script(_ text: String) -> UInt32 { subtags("xx-" + text).script }
}

extension LanguageSubtags {
  /// Value without any subtag.
  static let none = LanguageSubtags()

  private init() {}
}
