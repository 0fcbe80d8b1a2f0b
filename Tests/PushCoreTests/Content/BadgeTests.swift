import APNs
import PushCore
import TestKit
import TestSupport
import Testing

/// `aps.badge` as an increment: each user's badge continues from its last value.
struct BadgeTests {
  private func campaign(_ payload: String, _ more: String = "", audience: String = #"{"segment":"*"}"#) throws
    -> Campaign
  {
    let job = #"{"id":"a","app":"news","audience":\#(audience),"apns":{"payload":\#(payload)}\#(more)}"#
    return try CampaignJob.parse(Array(job.utf8), .any([APNsService()]))
  }

  private func text(_ campaign: Campaign, badge: Int?, form: UInt8 = 0) throws -> String {
    var values = TargetValues([0, form])
    values.badge = badge
    var payload: [UInt8] = []
    let content = try #require(campaign.message.content)
    expect(content.write(values, id: (0, 0), most: 4096, to: &payload))
    return String(decoding: payload, as: UTF8.self)
  }

  @Test func badgeOfTheTargetReplacesTheIncrement() throws {
    let campaign = try campaign(
      #"{"aps":{"alert":"hi","badge":"+2","sound":"+1"},"x":{"badge":"+3"}}"#,
      #","localized":{"de":{"apns":{"payload":{"aps":{"alert":"Hallo"}}}}}"#)
    expect(campaign.message.content?.badgeStep, is: 2)
    expect(
      try text(campaign, badge: 40), is: #"{"aps":{"alert":"hi","badge":40,"sound":"+1"},"x":{"badge":"+3"}}"#)
    expect(try text(campaign, badge: 2_147_483_647, form: 1).contains(#""alert":"Hallo","badge":2147483647"#))
    expect(try text(campaign, badge: nil).contains(#""badge":2,"#))
    let rules = GrantRules(campaign, caps: [])
    expect(rules.countsUsers && rules.badgeStep == 2 && rules.caps.isEmpty)
    expect(try !GrantRules(self.campaign(#"{"aps":{"alert":"hi","badge":2}}"#), caps: []).countsUsers)
  }

  @Test(arguments: [
    (#"{"aps":{"alert":"hi","badge":"+0"}}"#, "", #"{"segment":"*"}"#, "apns.payload.aps.badge"),
    (#"{"aps":{"alert":"hi","badge":"1"}}"#, "", #"{"segment":"*"}"#, "apns.payload.aps.badge"),
    (#"{"aps":{"alert":"hi","badge":"+1001"}}"#, "", #"{"segment":"*"}"#, "apns.payload.aps.badge"),
    (#"{"aps":{"alert":"hi","badge":"+1"}}"#, "", #"{"tokens":["aa01"]}"#, "apns.payload"),
    (
      #"{"aps":{"alert":"hi","badge":"+1"}}"#, #","localized":{"de":{"apns":{"payload":{"aps":{"badge":"+2"}}}}}"#,
      #"{"segment":"*"}"#,
      "localized.de.apns.payload.aps.badge"
    ),
  ])
  func invalidIncrementOrAudienceWithoutUsersIsRefused(payload: String, more: String, audience: String, field: String) {
    let error = #expect(throws: JobError.self) { try campaign(payload, more, audience: audience) }
    expect(error?.field, is: field, "\(error?.description ?? "")")
  }
}
