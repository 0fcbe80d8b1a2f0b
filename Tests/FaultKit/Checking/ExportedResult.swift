import TestSupport

/// A line of `results export --format csv`.
struct ExportedResult {
  var user: String
  /// Empty for a target of an erased user.
  var token: String
  /// Empty if the target has no outcome.
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
      let outcome = header.firstIndex(of: "outcome")
    else { throw TestSupportError("an export begins with \(lines.first ?? "nothing")") }
    let (variant, id) = (header.firstIndex(of: "variant"), header.firstIndex(of: "apnsId"))
    return lines.dropFirst().compactMap { line in
      let cells = cells(line)
      guard cells.count == header.count else { return nil }
      let apnsID = id.map { cells[$0].lowercased() } ?? ""
      return ExportedResult(
        user: cells[user], token: cells[token], outcome: cells[outcome], id: apnsID.isEmpty ? cells[token] : apnsID,
        variant: variant.map { cells[$0] } ?? "")
    }
  }

  // No value in any case needs quotes, so this parser does not handle them.
  private static func cells(_ line: Substring) -> [String] {
    line.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
  }
}
