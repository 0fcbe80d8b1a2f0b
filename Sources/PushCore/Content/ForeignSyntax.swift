/// Check for placeholders in the syntax of other template tools. They are errors, because Carillon would send parts of
/// them as text.
enum ForeignSyntax {
  /// First characters of a Mustache or Handlebars tag that is not a variable. Source: mustache(5).
  private static let sigils: Set<Character> = ["#", "/", "^", ">", "!", "&"]

  /// Filters of Liquid, Jinja, Twig and Django that take an argument: `default: "y"`, `default("y")`.
  /// Source: the references of Liquid ("Filters"), Jinja ("Builtin Filters"), Twig ("Filters") and Django ("Built-in
  /// filter reference"). The following lists have the same source.
  private static let filtersWithArgument: Set<String> = [
    "default", "date", "truncate", "truncatewords", "truncatechars", "append", "prepend", "replace", "replace_first",
    "remove", "remove_first", "plus", "minus", "times", "divided_by", "modulo", "at_least", "at_most", "round", "join",
    "split", "slice", "format", "center", "wordwrap",
  ]

  /// Filters whose names are not words of a language. After the bar of a placeholder, such a name is therefore a filter
  /// and not a fallback.
  private static let filters: Set<String> = [
    "upcase", "downcase", "titlecase", "swapcase", "capfirst", "lstrip", "rstrip", "url_encode", "url_decode",
    "urlencode", "urlize", "strip_html", "striptags", "escape_once", "escapejs", "forceescape", "newline_to_br",
    "nl2br", "linebreaks", "strip_newlines", "slugify", "base64_encode", "base64_decode", "json_encode", "tojson",
    "wordcount", "sort_natural", "intcomma", "floatformat",
  ]

  /// Filters whose names are also words. With blanks around it, such a name is a filter, because filters are usually
  /// written with blanks. Without blanks, it is a fallback.
  private static let filterWords: Set<String> = [
    "upper", "lower", "capitalize", "title", "trim", "strip", "escape", "safe", "raw", "first", "last", "length",
    "size",
    "reverse", "sort", "unique", "round", "floor", "ceil", "abs", "int", "float", "string", "date",
  ]

  /// Returns the error for a placeholder in the syntax of another tool; `nil` for a placeholder in Carillon's syntax.
  ///
  /// - Parameters:
  ///   - name: the text before the bar and the colon.
  ///   - fallback: the text after the bar; `nil` for none.
  ///   - placeholder: the whole placeholder, for the error message.
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
    let isSpaced = part.first == UInt8(ascii: " ") && part.last == UInt8(ascii: " ")
    let text = part.drop { $0 == UInt8(ascii: " ") }
    let word = text.prefix { byte in
      byte == UInt8(ascii: "_") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
    }
    let name = String(decoding: word, as: UTF8.self)
    let rest = text[word.endIndex...].drop { $0 == UInt8(ascii: " ") }
    let hasArgument = rest.first == UInt8(ascii: ":") || rest.first == UInt8(ascii: "(")
    if hasArgument { return filtersWithArgument.contains(name) ? name : nil }
    guard rest.isEmpty else { return nil }
    return filters.contains(name) || isSpaced && filterWords.contains(name) ? name : nil
  }
}
