import CampaignStore
import CommandSupport
import PushCore

/// How a campaign gets from its audience to its targets. The counts are of users, and add up: each user of the audience gets
/// a push, is in a control group, or is left out for one reason.
extension CampaignReport {
  /// The member `reach`; nothing for a campaign to raw tokens, and before a slice is sealed.
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
      if record.placement.overtookEvents > 0 { json.member("eventsNotApplied", record.placement.overtookEvents) }
      if let why = record.whyNobody { json.member("nobody", why) }
    }
  }

  /// The same for people.
  var reachRows: [(String, String)] {
    let counters = record.counters
    var rows: [(String, String)] = []
    if counters.meant > 0 {
      rows.append(("users", "\(counters.meant.grouped) in the audience, \(counters.audience.users.grouped) get it"))
      rows += counters.audience.reasons.map { ("  left out", "\($0.count.grouped) \($0.reason.text)") }
    }
    if counters.control > 0 { rows.append(("  control", "\(counters.control.grouped) users, who get nothing")) }
    if record.placement.overtookEvents > 0 {
      rows.append(
        ("events", "\(record.placement.overtookEvents.grouped) registration events were not applied when it began"))
    }
    if let why = record.whyNobody { rows.append(("reached nobody", why)) }
    return rows
  }
}
