import APNs
@testable import CampaignStore
import PushCore
import PushTransport
import TestKit
import Testing

@testable import PushWorker

/// Decisions of the intake about a job.
@Suite struct IntakeDecisionTests {
  @Test func jobBecomesACampaignOrADeadJobWithTheReason() throws {
    let apps = JobApps.known(["news": [APNsService(AppTraits(topic: "com.example.news"))]])
    let job = #"{"id":"a","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"hi"}}}}"#
    guard case .activate(let campaign, untimely: nil) = IntakeDecision(Array(job.utf8), apps, now: 0) else {
      Issue.record("it is a valid job")
      return
    }
    expect(campaign.id, is: "a")
    expect(IntakeDecision(campaign, .new), is: nil)
    expect(IntakeDecision(campaign, .duplicate), is: nil)
    expect(
      IntakeDecision(campaign, .conflict),
      is: .deadLetter(reason: "id: a is already used by another job", hint: "submit the job with another id"))
    guard case .deadLetter(let reason, _) = IntakeDecision(Array("{".utf8), apps, now: 0) else {
      Issue.record("it is no job")
      return
    }
    expect(reason.contains("JSON"))
    expect(IntakeDecision(StoreError(.full, "full", hint: "")), is: nil, "no fault of the job")
    expect(
      IntakeDecision(StoreError(.invalid, "no such segment", hint: "h")),
      is: .deadLetter(reason: "no such segment", hint: "h"))
  }
}
