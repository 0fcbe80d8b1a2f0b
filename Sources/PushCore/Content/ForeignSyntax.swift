/// Check for placeholders in the syntax of other tools. Carillon would send parts of them as text, so they are errors.
enum ForeignSyntax {
  /// First characters of a Mustache or Handlebars tag that is not a variable. Source: mustache(5).
  private static let sigils: Set<Character> = ["#", "/", "^", ">", "!", "&"]

  /// Filters of Liquid, Jinja and Twig that take an argument: `default: "y"`, `default("y")`.
  /// Source: the references of Liquid ("Filters") and Jinja ("Builtin Filters").
  private static let filtersWithArgument: Set<String> = [
    "default", "date", "truncate", "truncatewords", "append", "prepend", "replace", "remove", "plus", "minus", "times",
    "divided_by", "round", "join", "split", "slice",
  ]

  /// Filters whose names are not words of a language. If the text after the bar equals one of these names, it is
  /// therefore a filter and not a fallback.
  private static let filters: Set<String> = [
    "upcase", "downcase", "titlecase", "url_encode", "url_decode", "strip_html", "escape_once", "newline_to_br",
    "strip_newlines", "base64_encode",
  ]

  /// Returns the error for a placeholder of another tool; `nil` for one of Carillon's.
  ///
  /// - Parameters:
  ///   - name: the text before the bar and the colon.
  ///   - fallback: the text after the bar; `nil` for none.
  ///   - placeholder: the whole placeholder, for the message.
  static func problem(
    name: String, fallback: ArraySlice<UInt8>?, in placeholder: ArraySlice<UInt8>
  ) -> TemplateText.Problem? {
    if let first = name.unicodeScalars.first, sigils.contains(Character(first)) {
      return TemplateText.Problem(
        message:
          "\(TemplateText.shown(placeholder)) is a tag of Mustache or Handlebars, which Carillon does not support",
        hint: "use variants or localized; write the name of an attribute alone, as in {{firstName|there}}")
    }
    guard let fallback, !name.isEmpty else { return nil }
    if fallback.first == UInt8(ascii: "|") {
      return TemplateText.Problem(
        message: "\(TemplateText.shown(placeholder)) has two bars: users would get the second as text",
        hint: "write one bar and the fallback without quotes: {{\(Excerpt.bare(name))|there}}")
    }
    guard let filter = fallback.split(separator: UInt8(ascii: "|")).lazy.compactMap(filter).first else { return nil }
    return TemplateText.Problem(
      message: "\(TemplateText.shown(placeholder)) has the filter \(filter) of another template language",
      hint: "write the fallback alone, without quotes: {{\(Excerpt.bare(name))|there}}; "
        + "write a format after a colon: \(ValueFormat.names)")
  }

  /// Returns the filter that a part of a placeholder names; `nil` for a plain text.
  private static func filter(_ part: ArraySlice<UInt8>) -> String? {
    let isSpaced = part.first == UInt8(ascii: " ")
    let text = part.drop { $0 == UInt8(ascii: " ") }
    let word = text.prefix { byte in
      byte == UInt8(ascii: "_") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
    }
    let name = String(decoding: word, as: UTF8.self)
    let rest = text[word.endIndex...].drop { $0 == UInt8(ascii: " ") }
    let hasArgument = rest.first == UInt8(ascii: ":") || rest.first == UInt8(ascii: "(")
    if hasArgument { return filtersWithArgument.contains(name) ? name : nil }
    return isSpaced && rest.isEmpty && filters.contains(name) ? name : nil
  }
}
