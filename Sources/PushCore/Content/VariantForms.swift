/// Which form of the payload each variant of a campaign has for each language. Pure.
///
/// A target is sealed with one number for both: the variant's place times the languages that there are of all variants,
/// plus the language.
struct VariantForms: Sendable, Equatable {
  /// The languages of all variants together. The first is `nil`: it is that of devices for which there is no other.
  let languages: [LanguageTag?]
  /// By variant and language, the form's place.
  private let forms: [Int]

  /// - Parameter locales: the languages of the forms of each variant, one variant behind the other; the first of each is `nil`.
  init(_ locales: [[LanguageTag?]]) {
    var languages: [LanguageTag?] = [nil]
    for locale in locales.joined() where !languages.contains(locale) { languages.append(locale) }
    // Where both `zh` and `zh-Hans` are there, a device that names its script must be told from one that does not.
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
        // The nearest language of this variant. A device that is nearest to `language` among all variants finds the same
        // one, because the languages of this variant are among them.
        forms.append(first + (language?.nearest(in: own, \.self) ?? 0))
      }
      first += own.count
    }
    self.forms = forms
  }

  /// What a target is sealed with.
  ///
  /// - Parameters:
  ///   - variant: its place.
  ///   - locale: the device's language; `nil` where none is known.
  func number(of variant: Int, _ locale: LanguageTag?) -> Int {
    variant * languages.count + (locale?.nearest(in: languages, \.self) ?? 0)
  }

  /// The form of a target's payload.
  func form(_ values: TargetValues) -> Int {
    forms.indices.contains(values.form) ? forms[values.form] : 0
  }
}
