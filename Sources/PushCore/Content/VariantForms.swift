/// Table that assigns a payload form to each variant and language of a campaign. A form is the payload for one language
/// and variant. Pure.
///
/// A target is sealed with one number for variant and language: the position of the variant, multiplied by the number
/// of languages of all variants, plus the position of the language.
struct VariantForms: Sendable, Equatable {
  /// Languages of all variants together. The first is `nil`, for devices without a matching language.
  let languages: [LanguageTag?]
  /// Position of the form, by variant and language.
  private let forms: [Int]

  /// - Parameter locales: the languages of each variant's forms. The first one of each variant is `nil`.
  init(_ locales: [[LanguageTag?]]) {
    var languages: [LanguageTag?] = [nil]
    for locale in locales.joined() where !languages.contains(locale) { languages.append(locale) }
    // `zh` and `zh-Hans` mean the same locale, but variants may use both notations. A device may need another form if
    // its own tag contains the script, so both notations of a language get a position.
    for case let language? in languages {
      let other = language.writtenOtherwise
      let isAmbiguous = languages.contains { known in
        known.map { $0.isOfSameScript(as: other) && $0.isScriptGiven == other.isScriptGiven } ?? false
      }
      if isAmbiguous, !languages.contains(other) { languages.append(other) }
    }
    self.languages = languages
    var forms: [Int] = []
    var first = 0
    for own in locales {
      for language in languages {
        // For `language`, the form of the nearest language of this variant is used. A device whose nearest language is
        // `language` has the same nearest language in this variant, because `languages` includes the languages of this
        // variant.
        forms.append(first + (language?.nearest(in: own, \.self) ?? 0))
      }
      first += own.count
    }
    self.forms = forms
  }

  /// Returns the number that is sealed with a target.
  ///
  /// - Parameters:
  ///   - variant: the position of the variant.
  ///   - locale: the device's language; `nil` if it is unknown.
  func number(of variant: Int, _ locale: LanguageTag?) -> Int {
    variant * languages.count + (locale?.nearest(in: languages, \.self) ?? 0)
  }

  /// Returns the position of the form for a target.
  func form(_ values: TargetValues) -> Int {
    forms.indices.contains(values.form) ? forms[values.form] : 0
  }
}
