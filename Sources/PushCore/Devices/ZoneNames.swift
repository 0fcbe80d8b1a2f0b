import Foundation

/// Which names are those of time zones (IANA, such as `Europe/Berlin`): what Foundation knows, which brings its own list,
/// so that it is the same on every machine.
enum ZoneNames {
  /// The usual ones, for a quick look and for whoever has mistyped one; older names are not among them.
  static let usual = Set(TimeZone.knownTimeZoneIdentifiers + ["UTC"])

  static func isKnown(_ name: String) -> Bool {
    // Foundation takes offsets, too, and gives them another name.
    usual.contains(name) || TimeZone(identifier: name)?.identifier == name
  }
}
