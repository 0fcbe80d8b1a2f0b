import APNs
import PushCore
import TestKit
import Testing

/// The submitter of a job.
struct SubmitterTests {
  private func submitted(_ job: String, by person: String) throws(JobError) -> String {
    String(decoding: try CampaignJob.submitted(Array(job.utf8), by: person), as: UTF8.self)
  }

  @Test func nameIsAddedToTheJob() throws {
    let job = #" { "id":"a","x":1 }"#
    expect(try submitted(job, by: "Ada \"L\""), is: #" {"submittedBy":"Ada \"L\"", "id":"a","x":1 }"#)
    expect(try submitted("{}", by: "ada"), is: #"{"submittedBy":"ada"}"#)
    // The job has the same name already. Text that is not a job stays unchanged, because its reader reports the error.
    expect(try submitted(#"{"submittedBy":"ada"}"#, by: "ada"), is: #"{"submittedBy":"ada"}"#)
    expect(try submitted("[", by: "ada"), is: "[")
    let error = #expect(throws: JobError.self) { try submitted(#"{"submittedBy":"ada"}"#, by: "ben") }
    expect(error?.field, is: "submittedBy")
  }

  @Test func jobOfASweepIsOne() throws {
    let campaign = try CampaignJob.parse(
      CampaignJob.sweep(id: "s", app: "news", [APNsService()], rate: 50), .any([APNsService()]))
    expect(
      campaign.message.pushType == "background" && campaign.message.priority == 5 && campaign.delivery.lane == .bulk)
    expect(
      campaign.delivery.rate == .perSecond(50) && campaign.recipients.isTransactional && campaign.results == .none)
    expect(String(decoding: campaign.message.payload, as: UTF8.self), is: #"{"aps":{"content-available":1}}"#)
  }
}
