import TestSupport

/// A line of `results export --format csv`.
struct ExportedResult {
  var user: String
  /// Empty for a target of an erased user.
  var token: String
  /// Empty for none.
  var outcome: String
  /// `apns-id` of the push; for FCM the token, as in ``SimulatorLog``.
  var id: String
  /// The user's variant; empty if all users got the same push.
  var variant = ""

  /// Reads an export.
  static func all(in csv: String) throws -> [ExportedResult] {
    let lines = csv.split(whereSeparator: \.isNewline)
    let header = lines.first.map(cells) ?? []
    guard let user = header.firstIndex(of: "user"), let token = header.firstIndex(of: "token"),
      let outcome = header.firstIndex(of: "outcome"),
      let id = header.firstIndex(of: "apnsId")
    else { throw TestSupportError("an export begins with \(lines.first ?? "nothing")") }
    let variant = header.firstIndex(of: "variant")
    return lines.dropFirst().compactMap { line in
      let cells = cells(line)
      return cells.count == header.count
        ? ExportedResult(
          user: cells[user], token: cells[token], outcome: cells[outcome],
          id: cells[id].isEmpty ? cells[token] : cells[id].lowercased(),
          variant: variant.map { cells[$0] } ?? "") : nil
    }
  }

  // The values of all cases need no quotes.
  private static func cells(_ line: Substring) -> [String] {
    line.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
  }
}
