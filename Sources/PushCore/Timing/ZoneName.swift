import Foundation

/// Name of a time zone in Carillon's canonical form: a name of the IANA database such as `Europe/Berlin`, `UTC`, or a
/// fixed offset such as `+05:30`.
public struct ZoneName: Equatable, Sendable {
  /// Canonical text of the name.
  public let text: String

  /// Reason why a text names no time zone. In an error message, `message` follows the text.
  struct Problem: Error, Equatable {
    var message: String
    var hint: String
  }

  /// Names of the database without a slash, without abbreviations such as `EST`. Each name means exactly one zone.
  private static let plain: Set = [
    "CET", "CST6CDT", "Cuba", "EET", "EST5EDT", "Egypt", "Eire", "GB", "GB-Eire", "Hongkong", "Iceland", "Iran",
    "Israel",
    "Jamaica", "Japan", "Kwajalein", "Libya", "MET", "MST7MDT", "NZ", "NZ-CHAT", "Navajo", "PRC", "PST8PDT", "Poland",
    "Portugal", "ROC", "ROK", "Singapore", "Turkey", "W-SU", "WET",
  ]
  /// Other names of UTC.
  private static let utc: Set = ["GMT0", "Greenwich", "UCT", "Universal", "Zulu"]
  /// Prefixes of names that Foundation accepts, although they are not in the database.
  private static let foreign = ["SystemV/"]

  /// - Parameter text: a name as a phone or a person writes it.
  /// - Throws: an error that names the nearest known zone.
  init(checking text: String) throws(Problem) {
    if let offset = ZoneOffset.seconds(text.utf8) {
      self.text = ZoneOffset.text(offset)
    } else if Self.utc.contains(text) {
      self.text = CampaignTiming.utc
    } else if Self.isName(text) {
      self.text = text
    } else if Self.isAbbreviation(text) {
      throw Problem(
        message: "is an abbreviation, which is ambiguous and does not define summer time",
        hint: "use the IANA name, such as America/Los_Angeles or Asia/Kolkata")
    } else {
      throw Problem(
        message: "is not a time zone; examples are Europe/Berlin and UTC",
        hint: Nearest.match(text, among: Self.usual).map { "did you mean '\($0)'?" }
          ?? "use the IANA name, or an offset such as +02:00")
    }
  }

  /// Names that suggestions contain.
  private static let usual = TimeZone.knownTimeZoneIdentifiers + [CampaignTiming.utc]
  private static let known = Set(usual)

  /// Returns whether a text is a name of the database. The list of names is part of Foundation, so the result is the
  /// same on every machine.
  private static func isName(_ text: String) -> Bool {
    if known.contains(text) || plain.contains(text) { return true }
    // Foundation also accepts abbreviations.
    return text.contains("/") && !foreign.contains(where: text.hasPrefix)
      && TimeZone(identifier: text)?.identifier == text
  }

  /// Number of letters of an abbreviation. The database has `EST` and `ChST`, people also write `ET`, and the upper
  /// limit has a margin of one letter.
  private static let abbreviationLetters = 2...5

  /// Returns whether a text has the form of an abbreviation, such as `PST` or `IST`.
  ///
  /// The database has files for some abbreviations. Such a file defines one meaning of the abbreviation, but a phone
  /// may have used another meaning.
  public static func isAbbreviation(_ text: String) -> Bool {
    abbreviationLetters ~= text.utf8.count
      && text.utf8.allSatisfy { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 & 0xDF }
      && !plain.contains(text) && !utc.contains(text)
  }
}
