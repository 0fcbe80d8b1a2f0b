/// Versions of apps and operating systems, as devices report them: `5.2`, `v5.2`, `iOS 17.1`, `Version 17.1 (Build
/// 21B74)`.
enum VersionText {
  /// Returns the version without the text before its first digit. Conditions compare versions in this form.
  ///
  /// - Parameter text: a version, optionally after a `v` or the name of a system, and before a build in parentheses.
  /// - Returns: `nil` for a text that conditions can't compare.
  static func read(_ text: String) -> String? {
    var rest = Identifier.trimmed(text)[...]
    if let build = rest.firstIndex(of: "("), rest.last == ")", build > rest.startIndex {
      rest = rest[..<build]
      while rest.last == " " { rest.removeLast() }
    }
    let name = rest.prefix { $0.isASCII && $0.isLetter || $0 == " " }
    let isNamed = name.isEmpty || name.last == " " || name.lowercased() == "v"
    guard isNamed || name.hasSuffix(" v") || name.hasSuffix(" V") else { return nil }
    rest = rest.dropFirst(name.count)
    // A suffix of the number, such as `-beta.2`, is kept.
    guard let first = rest.utf8.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= first, !rest.contains(" ") else {
      return nil
    }
    return String(rest)
  }
}
