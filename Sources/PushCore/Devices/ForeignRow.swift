/// Check for lines that can't be user ids. Such a line shows that a file is not a list of ids: it may be an error page,
/// have other separators, or contain numbers in the format of a spreadsheet or a data frame.
enum ForeignRow {
  /// Returns the reason why a line is not an id; `nil` if the line may be an id.
  static func problem(of line: String) -> String? {
    switch line.utf8.first {
    case UInt8(ascii: "<"): return "looks like HTML or XML; put it in quotes if it is a user's id"
    case UInt8(ascii: "{"), UInt8(ascii: "["): return "looks like JSON; put it in quotes if it is a user's id"
    default: break
    }
    if line.utf8.contains(UInt8(ascii: "\t")) {
      return "has columns that are separated by tabs; separate columns by commas, and leave only the id"
    }
    if line.utf8.contains(UInt8(ascii: ";")) {
      return "has columns that are separated by semicolons; leave only the id, and put an id with a semicolon in quotes"
    }
    return problem(ofNumber: line)
  }

  /// Returns the reason why a number with a decimal point is not an id; `nil` for any other text.
  static func problem(ofNumber text: String) -> String? {
    guard let first = text.utf8.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= first,
      text.utf8.contains(UInt8(ascii: "."))
    else { return nil }
    if let whole = WholeNumber.text(text) {
      return
        "\(Excerpt.quoted(text)) is a number with a fraction, not a user's id: write \(whole), or put the id in quotes"
    }
    guard text.wholeMatch(of: /[0-9]\.[0-9]+[eE]\+[0-9]+/) != nil else { return nil }
    return
      "\(Excerpt.quoted(text)) is a number that a spreadsheet shortened, not a user's id: export the column as text"
  }
}
