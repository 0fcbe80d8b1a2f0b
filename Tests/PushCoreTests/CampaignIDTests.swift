import APNs
import PushCore
import TestKit
import TestSupport
import Testing

/// Ids that Carillon derives from a job's id. No producer can use such an id.
struct CampaignIDTests {
  @Test func idsOfPartsNameTheirCampaign() {
    for (text, whole, part) in [
      ("sale", "sale", nil), ("sale~1", "sale", CampaignPart(.number(1))), ("sale~rest", "sale", CampaignPart(.rest)),
      ("sale~main", "sale", CampaignPart(.main)),
      ("a.b~8.widgets", "a.b", CampaignPart(.number(8), companion: "widgets")),
      ("digest~20261201T0900", "digest~20261201T0900", nil),
      ("digest~20261201T0900~rest.widgets", "digest~20261201T0900", CampaignPart(.rest, companion: "widgets")),
      ("sale~9", "sale~9", nil), ("sale~01", "sale~01", nil), ("sale~rest.", "sale~rest.", nil),
    ] as [(String, String, CampaignPart?)] {
      let id = CampaignID(text)
      expect(id.whole == whole && id.part == part && id.description == text, "\(text)")
    }
  }

  @Test(arguments: [
    ("sale", true), ("sale.rest", true), ("digest~20261201T0900", true), ("sale~1", false), ("sale~rest", false),
    ("sale~rest.controls", false), ("~", false), ("a~b~c", false), ("", false), ("a b", false),
  ])
  func campaignsAreNamedByJobsAndRuns(id: String, isValid: Bool) {
    expect(CampaignID.isValid(id), is: isValid)
  }

  @Test func noJobNamesItselfAPart() {
    for id in ["sale~1", "sale~rest", "digest~20261201T0900", "~"] {
      let error = #expect(throws: JobError.self) {
        try CampaignJob.parse(Array(job(["id": "\"\(id)\""]).utf8), .any([APNsService()]))
      }
      expect(error?.field, is: "id", "\(id)")
    }
  }

  /// Fields that once named the origin of a derived job are unknown now.
  @Test(arguments: ["beside", "canary", "test", "winner", "rest", "of"])
  func formerOriginFieldsAreUnknown(field: String) {
    let error = #expect(throws: JobError.self) {
      try CampaignJob.parse(Array(job([field: "\"sale\""]).utf8), .any([APNsService()]))
    }
    expect(error?.message.contains("unknown field"), is: true)
  }
}
