/// The tables of ``LanguageTable`` in an order that is searched without allocating memory.
struct LanguageIndex: Sendable {
  /// A value for each key, in the order of the keys.
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
  /// `Latn`, the script of a language that the tables don't name.
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

  /// The current code of a region.
  func region(_ region: UInt32) -> UInt32 { regionAliases[UInt64(region)] ?? region }

  func likelyScript(of language: UInt32, in region: UInt32) -> UInt32 {
    if region != 0, let script = regionScripts[Self.key(language, region)] { return script }
    return scripts[UInt64(language)] ?? Self.latin
  }

  /// The region of which a language in a script most likely is; `nil` where CLDR names none.
  func likelyRegion(of language: UInt32, in script: UInt32) -> UInt32? {
    if let region = regions[Self.key(language, script)] { return region }
    return script == likelyScript(of: language, in: 0) ? regions[Self.key(language, 0)] : nil
  }

  /// The parent of a locale that `parentLocales` names; `nil` for any other.
  func parent(of tag: LanguageTag) -> LanguageSubtags? { parents[Self.key(of: tag)] }

  /// Whether `parentLocales` names a locale as a parent.
  func hasChildren(_ tag: LanguageTag) -> Bool { hasChildren[Self.key(of: tag)] != nil }

  /// The codes of all languages, for suggestions.
  var codes: [String] { Self.words(LanguageTable.languages) }

  // MARK: Keys

  /// A key of a language, and of a region or a script.
  private static func key(_ language: UInt32, _ other: UInt32) -> UInt64 { UInt64(language) << 32 | UInt64(other) }

  /// The language takes 24 bits, and so does the region: 15 bits are left of a script, enough to tell those of one
  /// language apart.
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
  /// No subtag at all.
  static let none = LanguageSubtags()

  private init() {}
}
