/// Checks for tags that people write in files, events, jobs and conditions.
extension LanguageTag {
  /// Reason why a text names no language. In an error message, `message` follows the text.
  struct Problem: Error, Equatable {
    var message: String
    var hint: String
  }

  /// - Parameter text: a tag, written by a phone or by a person.
  /// - Throws: an error that names the nearest known code.
  init(checking text: String) throws(Problem) {
    guard let tag = LanguageTag(text.utf8) else {
      throw Problem(
        message: "is not a language tag",
        hint: Self.nearest(to: text).map { "did you mean '\($0)'?" } ?? "write it as en, pt-BR or zh-Hans")
    }
    guard tag.isKnown else {
      throw Problem(
        message: "has an unknown language",
        hint: Self.nearest(to: text).map { "did you mean '\($0)'?" } ?? "it begins with a code of ISO 639, such as en")
    }
    self = tag
  }

  /// Lengths of the beginnings of a language's name that are compared with the language codes: `german` begins with
  /// `ger`, `svenska` with `sv`.
  private static let beginnings = [3, 2]

  /// Returns the known code that is nearest to a text; `nil` if none is near.
  private static func nearest(to text: String) -> String? {
    let name = text.prefix { $0.isLetter }.lowercased()
    // The text may be the name of a language in any language.
    if name.utf8.count > 3 {
      for length in beginnings {
        if let tag = LanguageTag(name.utf8.prefix(length)), tag.isKnown { return tag.description }
      }
    }
    // A text of two letters is equally near to many codes, so a suggestion would be useless.
    guard name.utf8.count > 2 else { return nil }
    return Nearest.match(name, among: LanguageIndex.shared.codes.filter { $0.first == name.first })
  }
}
