/// Which form of the payload each variant of a campaign has for each language. Pure.
///
/// A target is sealed with one number for both: the variant's place times the languages that there are of all variants,
/// plus the language.
struct VariantForms: Sendable, Equatable {
  /// Of all variants together, as normal tags; the first is empty, for whoever has none of the others.
  let languages: [[UInt8]]
  /// By variant and language, the form's place.
  private let forms: [Int]

  /// - Parameter locales: of the forms of each variant, those of one behind those of another; the first of each is empty.
  init(_ locales: [[[UInt8]]]) {
    var languages: [[UInt8]] = [[]]
    for locale in locales.joined() where !languages.contains(locale) { languages.append(locale) }
    self.languages = languages
    var forms: [Int] = []
    var first = 0
    for own in locales {
      for language in languages {
        // Of a tag that another variant has, what this one has for it. Whoever is looked up by that tag would find the same
        // here: what this one has is among all of them.
        let place = language.withUnsafeBytes { tag in
          LanguageTag.lookup(tag) { range in own.firstIndex { LanguageTag.isSame(range, $0) } }
        }
        forms.append(first + (place ?? 0))
      }
      first += own.count
    }
    self.forms = forms
  }

  /// What a target is sealed with.
  ///
  /// - Parameters:
  ///   - variant: its place.
  ///   - locale: the device's language tag.
  func number(of variant: Int, _ locale: UnsafeRawBufferPointer) -> Int {
    let language = LanguageTag.lookup(locale) { range in languages.firstIndex { LanguageTag.isSame(range, $0) } }
    return variant * languages.count + (language ?? 0)
  }

  /// The form of a target's payload.
  func form(_ values: TargetValues) -> Int {
    forms.indices.contains(values.form) ? forms[values.form] : 0
  }
}
