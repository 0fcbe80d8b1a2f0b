import APNs
import PushCore
import TestSupport
import Testing

/// A share of the users is first; what becomes of it says whether the others follow.
struct CanaryTests {
  private static let json = #""canary":{"share":0.1,"wait":"10m","maxFailures":0.05,"minOpened":0.02}"#

  private func campaign(_ id: String, _ more: String = json, audience: String = #"{"segment":"*"}"#) throws -> Campaign
  {
    try CampaignJob.parse(Array(job(id, more, audience: audience).utf8), .any(APNsService()))
  }

  private func job(_ id: String, _ more: String, audience: String = #"{"segment":"*"}"#) -> String {
    #"{"id":"\#(id)","app":"news","audience":\#(audience),"payload":{"aps":{"alert":"hi"}},\#(more)}"#
  }

  @Test func eachUserIsInOneOfTheTwoParts() throws {
    let first = try #require(try campaign("story").canary)
    let rest = try CampaignJob.rest(of: Array(job("story", Self.json).utf8))
    let other = try #require(try CampaignJob.parse(rest, .any(APNsService())).canary)
    #expect(first.first == nil && other.first == "story")
    #expect(try CampaignJob.parse(rest, .any(APNsService())).id == "story.rest")
    var count = 0
    for number in 0..<20_000 {
      var user = "user-\(number)"
      let (isFirst, isOther) = user.withUTF8 { (first.has(.init($0)), other.has(.init($0))) }
      #expect(isFirst != isOther)
      count += isFirst ? 1 : 0
    }
    // Five standard deviations.
    #expect((1788...2212).contains(count), "\(count)")
  }

  @Test(arguments: [
    (#""canary":7"#, "canary: must be a JSON object"), (#""canary":{}"#, "canary.share: must be a number above 0"),
    (#""canary":{"share":1,"wait":"1m","maxFailures":0}"#, "canary.share: must be a number above 0 and below 1"),
    (#""canary":{"share":0.1,"wait":"8d","maxFailures":0}"#, "canary.wait: '8d' is not a duration of up to 7d"),
    (#""canary":{"share":0.1,"wait":"1m"}"#, "canary.maxFailures: is missing"),
    (#""canary":{"share":0.1,"wait":"1m","maxFailures":2}"#, "canary.maxFailures: must be a share, from 0 to 1"),
    (#""canary":{"share":0.1,"wait":"1m","maxFailures":0,"minOpened":0}"#, "canary.minOpened: must be a share"),
    (#""canary":{"share":0.1,"wait":"1m","maxFailures":0,"of":"x"}"#, "canary.of: is written by Carillon itself"),
    (#""canary":{"shre":0.1}"#, "canary.shre: unknown field"),
  ])
  func whatIsWrongIsSaid(more: String, says: String) {
    let error = #expect(throws: JobError.self) { try campaign("a", more) }
    #expect(error?.reason.hasPrefix(says) == true, "\(error?.reason ?? "")")
  }

  @Test func itNeedsUsersAndAnIDWithRoom() throws {
    #expect(throws: JobError.self) { try campaign("a", audience: #"{"tokens":["aa01"]}"#) }
    #expect(throws: JobError.self) { try campaign("a", audience: #"{"segment":"*","limit":5}"#) }
    #expect(throws: JobError.self) { try campaign(String(repeating: "a", count: 60)) }
    let longest = String(repeating: "a", count: 59)
    #expect(throws: Never.self) { try campaign(longest) }
    let rest = try CampaignJob.rest(of: Array(job(longest, Self.json).utf8))
    #expect(try CampaignJob.parse(rest, .any(APNsService())).id == longest + ".rest")
  }

  @Test func restFollowsWhenTheFirstPartWasWell() {
    let canary = Canary(of: "c.rest", share: 0.1, wait: 600, mostFailures: 0.05, leastOpened: 0.02, first: "c")
    func verdict(
      _ outcomes: [Outcome: Int], opened: Int = 10, ended: Int? = 0, isCancelled: Bool = false, isResumed: Bool = false,
      now: Int = 600_000
    ) -> Canary.Verdict {
      let finding = Canary.Finding(outcomes: outcomes, opened: opened, finishedAt: ended, isCancelled: isCancelled)
      return canary.verdict(finding, isResumed: isResumed, now: now)
    }
    #expect(verdict([.accepted: 100]) == .goOn)
    // Devices that are gone are nobody's failure, nor is what was not sent.
    #expect(verdict([.accepted: 95, .failed: 5, .unregistered: 50, .capped: 1000], opened: 2) == .goOn)
    guard case .pause(let reason) = verdict([.accepted: 94, .badToken: 4, .rejected: 2]) else {
      Issue.record("6 of 100 failed")
      return
    }
    #expect(reason.hasPrefix("canary: 6 of 100 pushes of campaign c failed, more than 5.0 %"))
    guard case .pause(let unread) = verdict([.accepted: 100], opened: 1) else {
      Issue.record("1 of 100 has opened it")
      return
    }
    #expect(unread.hasPrefix("canary: 1 of 100 users have opened campaign c, less than 2.0 %"))
    guard case .pause = verdict([.capped: 7]) else {
      Issue.record("nobody got it")
      return
    }
    // It is not looked at before its time, whoever resumes it; afterwards whoever does has looked.
    for isResumed in [false, true] {
      guard case .wait = verdict([.accepted: 100], isResumed: isResumed, now: 599_999),
        case .wait = verdict([.failed: 100], ended: nil, isResumed: isResumed)
      else {
        Issue.record("too early")
        return
      }
    }
    #expect(verdict([.failed: 100], isResumed: true) == .goOn)
    #expect(verdict([.accepted: 100], isCancelled: true) == .cancel)
  }
}
