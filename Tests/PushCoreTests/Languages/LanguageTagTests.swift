import Foundation
@testable import PushCore
import TestKit
import Testing

/// Language tags as phones write them, and the languages that they match.
struct LanguageTagTests {
  @Test(arguments: [
    ("en", "en"), ("EN_us", "en-US"), ("zh_TW", "zh-TW"), ("zh-hans-cn", "zh-Hans-CN"), ("es-419", "es-419"),
    // Apple's identifiers, POSIX, and Java's text of a locale.
    ("en_US@calendar=japanese", "en-US"), ("ar@numbers=latn", "ar"), ("de_DE.UTF-8", "de-DE"), ("de_DE@euro", "de-DE"),
    ("zh_TW_#Hant", "zh-Hant-TW"), ("sr__#Latn", "sr-Latn"), ("ja_JP_JP_#u-ca-japanese", "ja-JP"),
    ("en_US_POSIX", "en-US-posix"), ("en-US-u-hc-h12", "en-US"), ("de-AT-1996-x-own", "de-AT-1996"),
    // Former codes, codes of three letters, and common wrong regions.
    ("iw", "he"), ("iw_IL", "he-IL"), ("in", "id"), ("ji", "yi"), ("no", "nb"), ("no_NO", "nb-NO"), ("mo", "ro"),
    ("tl", "fil"), ("sh", "sr-Latn"), ("cnr", "sr-ME"), ("deu", "de"), ("ger-AT", "de-AT"), ("zh-yue-HK", "yue-HK"),
    ("cmn-Hant", "zh-Hant"), ("en-UK", "en-GB"),
  ])
  func tagOfAPhoneIsReadAndNormalised(text: String, tag: String) throws {
    expect(try LanguageTag(checking: text).description, is: tag)
    expect(try LanguageTag(checking: tag).description, is: tag)
  }

  @Test(arguments: [
    ("deutsch", "did you mean 'de'?"), ("german", "did you mean 'de'?"), ("English", "did you mean 'en'?"),
    ("spanish", "did you mean 'es'?"), ("svenska", "did you mean 'sv'?"), ("japanese", "did you mean 'ja'?"),
    ("enn", "did you mean 'en'?"), ("xx", "it begins with a code"), ("", "write it as"), ("e", "write it as"),
    ("en-", "write it as"), ("en--US", "write it as"), ("12", "write it as"), ("en-US-GB", "write it as"),
    ("de-DE,de;q=0.9", "write it as"), ("zh Hans", "write it as"), ("@calendar=japanese", "write it as"),
    (String(repeating: "en-", count: 40), "write it as"),
  ])
  func textThatNamesNoLanguageIsRefused(text: String, hint: String) {
    let problem = #expect(throws: LanguageTag.Problem.self) { try LanguageTag(checking: text) }
    expect(problem?.hint.contains(hint), is: true, "\(problem?.hint ?? "")")
  }

  @Test(
    arguments: [
      ("zh-TW", ["zh-Hans", "zh-Hant"], "zh-Hant"), ("zh_HK", ["zh", "zh-Hant"], "zh-Hant"),
      ("zh-TW", ["zh", "en"], nil),
      ("zh-MO", ["zh-Hant", "zh-HK"], "zh-HK"), ("zh-HK", ["zh-CN", "zh-TW"], "zh-TW"),
      ("zh-SG", ["zh-TW", "zh-CN"], "zh-CN"),
      ("zh-CN", ["zh-Hans", "zh"], "zh"), ("zh-Hans-CN", ["zh", "zh-Hans"], "zh-Hans"), ("zh", ["zh-Hans"], "zh-Hans"),
      ("es-MX", ["es", "es-419"], "es-419"), ("es-US", ["es", "es-419"], "es-419"), ("es-ES", ["es-419", "es"], "es"),
      ("es-MX", ["es", "en"], "es"), ("es", ["es-419"], nil), ("pt-AO", ["pt", "pt-PT"], "pt-PT"),
      ("pt", ["pt-BR"], "pt-BR"),
      ("en-NZ", ["en", "en-001"], "en-001"), ("en-GB", ["en-US", "fr"], "en-US"),
      ("en-AT", ["en", "en-150"], "en-150"),
      ("iw-IL", ["he"], "he"), ("he", ["iw"], "iw"), ("in", ["id"], "id"), ("no", ["nb"], "nb"),
      ("nb-NO", ["no"], "no"),
      ("nn", ["no", "en"], "no"), ("sr-ME", ["sr", "sr-Latn"], "sr-Latn"), ("sr-RS", ["sr-Latn", "sr"], "sr"),
      ("pa-PK", ["pa", "pa-Arab"], "pa-Arab"), ("en_US@calendar=japanese", ["en-US"], "en-US"), ("fr", ["de"], nil),
    ] as [(String, [String], String?)])
  func deviceGetsTheNearestLanguage(device: String, languages: [String], expected: String?) throws {
    let tags = try languages.map { try LanguageTag(checking: $0) }
    let place = try LanguageTag(checking: device).nearest(in: tags, \.self)
    expect(place.map { languages[$0] }, is: expected)
  }

  @Test(arguments: [
    ("zh-TW", "zh-Hant", true), ("zh-HK", "zh-Hant", true), ("zh-TW", "zh", true), ("zh-CN", "zh-Hant", false),
    ("zh", "zh-Hans", true), ("es-MX", "es-419", true), ("es-ES", "es-419", false), ("es-419", "es", true),
    ("en-NZ", "en-001", true), ("en-US", "en-001", false), ("en", "en-US", false), ("de-AT", "de", true),
    ("nn", "nb", false), ("ger", "de", true), ("zh-TW", "zh-HK", false), ("zh-MO", "zh-HK", true),
  ])
  func conditionOnALanguageMatchesItsRegions(device: String, range: String, isIn: Bool) throws {
    expect(try LanguageTag(checking: device).isIn(LanguageTag(checking: range)), is: isIn)
  }

  @Test func everyLocaleOfTheSystemIsReadAndItsParentsEnd() throws {
    for identifier in Locale.availableIdentifiers {
      let tag = try LanguageTag(checking: identifier)
      var (next, steps) = (tag.parent, 0)
      while let current = next {
        (next, steps) = (current.parent, steps + 1)
        try #require(steps < 8, "\(identifier)")
      }
    }
  }

  /// The likely scripts of the toolchain's ICU are the reference.
  @Test func scriptsAreTheLikelyOnesOfTheSystem() throws {
    for identifier in Locale.availableIdentifiers where !identifier.contains("@") {
      let likely = Locale.Language(identifier: Locale.Language(identifier: identifier).maximalIdentifier)
      // ICU has a code of its own for a style of Arabic script, and scripts of two languages that CLDR 46 does not
      // have.
      guard let script = likely.script?.identifier, script != "Aran", !["ber", "hmn"].contains(identifier.prefix(3))
      else {
        continue
      }
      let tag = try LanguageTag(checking: identifier)
      expect(LanguageSubtags.text(UInt64(tag.script)), is: script, "\(identifier)")
    }
  }
}
