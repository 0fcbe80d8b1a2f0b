import CampaignStore
import CommandSupport
import PushCore

/// The reach of a campaign: the steps from its audience to its targets. The counts are numbers of users and add up:
/// each user of the audience gets a push, is in a control group, or is excluded for one reason.
extension CampaignReport {
  /// Writes the member `reach`. It is omitted for a campaign to raw tokens, and before the first slice is sealed.
  func writeReach(to json: inout JSONWriter) {
    let counters = record.counters
    let isToTokens = counters.meant == 0 && counters.targets > 0
    guard record.slices.sealed > 0, !isToTokens else { return }
    json.object("reach") { json in
      json.member("audience", counters.meant)
      json.member("users", counters.audience.users)
      json.member("control", counters.control)
      json.object("leftOut") { json in
        for (reason, count) in counters.audience.reasons { json.member(reason.name, count) }
      }
      if record.placement.eventsNotApplied > 0 { json.member("eventsNotApplied", record.placement.eventsNotApplied) }
      if let why = record.noUserReason { json.member("noUserReason", why) }
    }
  }

  /// The lines about the reach in the text output.
  var reachRows: [(String, String)] {
    let counters = record.counters
    var rows: [(String, String)] = []
    if counters.meant > 0 {
      rows.append(("users", "\(counters.meant.grouped) in the audience, \(counters.audience.users.grouped) get a push"))
      rows += counters.audience.reasons.map { ("  excluded", "\($0.count.grouped) \($0.reason.text)") }
    }
    if counters.control > 0 { rows.append(("  control", "\(counters.control.grouped) users, who get no push")) }
    if record.placement.eventsNotApplied > 0 {
      rows.append(
        ("events", "\(record.placement.eventsNotApplied.grouped) registration events were not applied at the start"))
    }
    if let why = record.noUserReason { rows.append(("no recipients", why)) }
    return rows
  }
}
