import CampaignStore
import CommandSupport
import PushCore

/// The result of a check of the store: counts of findings and of checked keys.
struct StoreCheckReport: JSONReport {
  var tally = StoreCheckTally()
  private var found = 0
  private(set) var repaired = 0

  /// Number of findings that were not repaired.
  var left: Int { found - repaired }

  mutating func count(_ finding: StoreFinding) {
    found += 1
    if finding.standing == .repaired { repaired += 1 }
  }

  /// Returns a finding as a line: place, problem and hint.
  static func text(_ finding: StoreFinding) -> String {
    let place = finding.subject.isEmpty ? finding.key : "\(finding.key) \(finding.subject)"
    return Excerpt.harmless("\(place): \(finding.problem); \(finding.hint)")
  }

  /// Returns a finding as a JSON object.
  static func json(_ finding: StoreFinding) -> String {
    JSONWriter.object { json in
      json.member("kind", finding.kind.rawValue)
      json.member("key", finding.key)
      json.member("subject", finding.subject.isEmpty ? nil : finding.subject)
      json.member("standing", finding.standing.rawValue)
      json.member("problem", finding.problem)
      json.member("hint", finding.hint)
    }
  }

  func writeMembers(to json: inout JSONWriter) {
    json.member("found", found)
    json.member("repaired", repaired)
    json.member("left", left)
    json.member("keys", tally.keys)
    json.member("users", tally.users)
    json.member("tokens", tally.tokens)
    json.member("campaigns", tally.campaigns)
    json.member("slices", tally.slices)
    json.member("leftOut", tally.leftOut)
  }

  /// The last line of the text output.
  var text: String {
    let looked =
      "checked \(tally.keys.grouped) keys, \(tally.users.grouped) users, \(tally.tokens.grouped) tokens, "
      + "\(tally.campaigns.grouped) campaigns, \(tally.slices.grouped) slices: "
    guard found > 0 else { return looked + "no problems found" }
    return looked + "\(found.grouped) problems found, \(repaired.grouped) repaired, \(left.grouped) remaining"
  }
}
