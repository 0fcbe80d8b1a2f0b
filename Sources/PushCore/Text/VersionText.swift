/// Versions as apps and systems write them: `5.2`, `v5.2`, `iOS 17.1`, `Version 17.1 (Build 21B74)`.
enum VersionText {
  /// Returns the version from its first digit on: what conditions compare.
  ///
  /// - Parameter text: a version, perhaps behind a `v` or the name of a system, and before a build in parentheses.
  /// - Returns: `nil` for any other text, which would compare with nothing.
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
    // What follows the number, such as `-beta.2`, stays.
    guard let first = rest.utf8.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= first, !rest.contains(" ") else {
      return nil
    }
    return String(rest)
  }
}
