import APNs
import TestKit
import TestSupport
import Testing

@testable import PushCore

/// Variants: their assignment to users, and the choice of the winner.
struct CampaignVariantsTests {
  private func campaign(
    _ more: String, audience: String = #"{"segment":"*"}"#, payload: String = #"{"aps":{"alert":"hi"}}"#
  ) throws -> Campaign {
    let payload = payload.isEmpty ? "" : #""apns":{"payload":\#(payload)},"#
    return try CampaignJob.parse(
      Array(#"{"id":"c1","app":"news",\#(payload)"audience":\#(audience),\#(more)}"#.utf8), .any([APNsService()]))
  }

  private func place(_ variants: CampaignVariants, _ user: String) -> Int {
    Array(user.utf8).withUnsafeBytes(variants.index)
  }

  // MARK: Assignment to users

  /// The shares equal the weights within five standard deviations, for any weights.
  @Test func usersAreAssignedByWeights() {
    var seed = Seed("usersAreAssignedByWeights")
    for round in 0..<8 {
      let weights = (0..<Int.random(in: 2...8, using: &seed)).map { _ in Double.random(in: 0.01...3, using: &seed) }
      let variants = CampaignVariants(
        weights.enumerated().map { .init(name: "v\($0)", weight: $1) }, campaign: "c\(round)")
      let users = 20_000
      var counts = CampaignVariants.places.map { _ in 0 }
      for number in 0..<users { counts[place(variants, "u\(number)")] += 1 }
      let shares = weights.map { $0 / weights.reduce(0, +) }
      for (place, share) in shares.enumerated() {
        let expected = Double(users) * share
        let deviation = (Double(users) * share * (1 - share)).squareRoot()
        expect(abs(Double(counts[place]) - expected) <= 5 * deviation + 1, "\(seed) \(round) \(place) \(counts)")
      }
    }
  }

  /// The random selections of a user for different purposes are independent.
  @Test func variantsAreIndependentOfOtherRandomSelections() throws {
    let two = #""variants":[{"name":"a"},{"name":"b","apns":{"payload":{"n":1}}}]"#
    let own = try campaign(
      two + #","control":0.5,"stages":[{"share":0.5}]"#, audience: #"{"segment":"*","sample":0.5}"#)
    let variants = try #require(own.message.variants)
    let (sample, control, stages) = (
      try #require(own.recipients.sample), try #require(own.recipients.control), try #require(own.delivery.stages)
    )
    let other = CampaignVariants(variants.all, campaign: "c2")
    var joint = [Int](repeating: 0, count: 4)
    for number in 0..<20_000 {
      let user = Array("u\(number)".utf8)
      user.withUnsafeBytes { user in
        guard variants.index(of: user) == 0 else { return }
        joint[0] += sample.has(user) ? 1 : 0
        joint[1] += control.has(user) ? 1 : 0
        joint[2] += stages.draw.index(of: user) == 0 ? 1 : 0
        joint[3] += other.index(of: user) == 0 ? 1 : 0
      }
    }
    // Each count is a quarter, within five standard deviations.
    for count in joint { expect(abs(count - 5000) < 307, "\(joint)") }
  }

  // MARK: The winner

  private func verdict(
    _ counted: [Int], _ reached: [Int], minimum: Int = 1, otherwise: Int? = nil, isOverridden: Bool = false
  ) -> CampaignVariants.Verdict {
    CampaignVariants(counted.indices.map { .init(name: "v\($0)") }, campaign: "c").verdict(
      .init(minimum: minimum, otherwise: otherwise), counted: counted, of: reached, isOverridden: isOverridden)
  }

  @Test func winnerHasTheLargestShareOrIsFirst() {
    expect(verdict([10, 11], [100, 100]), is: .winner(1))
    expect(verdict([10, 11], [100, 200]), is: .winner(0))
    expect(verdict([1, 10, 20], [10, 100, 200]), is: .winner(0))
    expect(verdict([0, 1, 0], [0, 10, 0]), is: .winner(1))
    // A variant without recipients can't win, whatever receipts it has.
    expect(verdict([5, 1], [0, 10]), is: .winner(1))
    expect(verdict([333_333_333, 333_333_334], [1_000_000_000, 1_000_000_000]), is: .winner(1))
  }

  @Test func tooFewReceiptsGiveNoWinner() {
    expect(verdict([9, 10], [100, 100], minimum: 20, otherwise: 0), is: .winner(0))
    expect(verdict([10, 10], [100, 90], minimum: 20, otherwise: 0), is: .winner(1))
    expect(verdict([9, 10], [100, 100], minimum: 20, isOverridden: true), is: .winner(1))
    expect(verdict([0, 0], [0, 0], minimum: 20, isOverridden: true), is: .winner(0))
    guard case .unclear(let reason) = verdict([9, 10], [100, 100], minimum: 20) else {
      Issue.record("19 of 20 is too little")
      return
    }
    expect(reason.hasPrefix("no winner: 19 opened in total, 20 needed"), "\(reason)")
  }

  // MARK: Invalid variants

  @Test(arguments: [
    (#""variants":7"#, "variants: must be an array of 2 to 8 variants"),
    (#""variants":[{"name":"a"}]"#, "variants: must be an array of 2 to 8 variants"),
    (#""variants":[{"name":"a"},7]"#, "variants[1]: must be a JSON object, not a number"),
    (#""variants":[{"name":"a"},{}]"#, "variants[1].name: is missing"),
    (#""variants":[{"name":"a"},{"name":"a b"}]"#, "variants[1].name: 'a b' is not a valid variant name"),
    (#""variants":[{"name":"a"},{"name":"a"}]"#, "variants[1].name: 'a' is used twice"),
    (#""variants":[{"name":"a","weight":0},{"name":"b"}]"#, "variants[0].weight: must be a number above 0"),
    (#""variants":[{"name":"a","weight":"1"},{"name":"b"}]"#, "variants[0].weight: must be a number above 0"),
    (#""variants":[{"name":"a","wieght":1},{"name":"b"}]"#, "variants[0].wieght: unknown field"),
    (
      #""variants":[{"name":"a","apns":{"payload":"x"}},{"name":"b"}]"#,
      "variants[0].apns.payload: must be a JSON object"
    ),
    (#""variants":[{"name":"a","localized":{"x y":{}}},{"name":"b"}]"#, "variants[0].localized."),
    (
      #""variants":[{"name":"a"},{"name":"b","template":"t"}]"#,
      "variants[1].template: was not checked: templates are kept in the store"
    ),
    (
      #""variants":[{"name":"a"},{"name":"b","template":{"apns":{"payload":{}}},"message":{}}]"#,
      "variants[1].message: can't be combined with template"
    ),
    (#""variants":[{"name":"a"},{"name":"b","apns":{"payload":{"a":"{{x:y}}"}}}]"#, "variants[1].apns.payload.a: "),
    (#""variants":[{"name":"a"},{"name":"b","apns":{"payload":{"aps":7}}}]"#, "variants[1].apns.payload.aps"),
    (#""stages":[{"share":0.1,"winner":{}}]"#, "stages[0].winner: needs variants, and the job has none"),
  ])
  func invalidVariantsAreNamed(more: String, says: String) {
    let error = #expect(throws: JobError.self) { try campaign(more) }
    expect(error?.reason.hasPrefix(says), is: true, "\(error?.reason ?? "")")
  }

  @Test(arguments: [
    ("7", "stages[0].winner: must be a JSON object"),
    (#"{"by":"clicked"}"#, "stages[0].winner.by: unknown value 'clicked'"),
    (#"{"minimum":0}"#, "stages[0].winner.minimum: must be a whole number above 0"),
    (#"{"otherwise":"c"}"#, "stages[0].winner.otherwise: 'c' is not one of the variants"),
    (#"{"after":"1h"}"#, "stages[0].winner.after: unknown field"),
    (#"{}},{"share":0.1,"winner":{}"#, "stages: choose a winner twice"),
  ])
  func invalidWinnerIsNamed(winner: String, says: String) {
    let two = #""variants":[{"name":"a"},{"name":"b","apns":{"payload":{"n":1}}}],"stages":[{"share":0.1,"winner":"#
    let error = #expect(throws: JobError.self) { try campaign(two + winner + "}]") }
    expect(error?.reason.hasPrefix(says), is: true, "\(error?.reason ?? "")")
  }

  @Test func unknownUserGetsNoVariant() throws {
    let two = #""variants":[{"name":"a"},{"name":"b"}]"#
    for audience in [#"{"tokens":["aa01"]}"#, #"{"activity":"match-1"}"#] {
      let error = #expect(throws: JobError.self) { try campaign(two, audience: audience) }
      expect(error?.reason.hasPrefix("variants: need an audience of users"), is: true, "\(error?.reason ?? "")")
    }
    let nothing = #expect(throws: JobError.self) {
      try campaign(#""variants":[{"name":"a","apns":{"payload":{"aps":{"badge":1}}}},{"name":"b"}]"#, payload: "")
    }
    expect(nothing?.reason.hasPrefix("variants[1].message: is missing"), is: true, "\(nothing?.reason ?? "")")
  }

  /// Variants can be combined with the other fields of a job.
  @Test(arguments: [
    #""stages":[{"share":0.1,"wait":"1m","maxFailures":0}]"#, #""stages":[{"users":["x"],"wait":"1h"}]"#,
    #""control":0.1"#, #""localTime":true,"sendAt":"2026-12-01T09:00:00""#,
    #""quietHours":{"from":"22:00","to":"08:00"},"stages":[{"share":0.1,"winner":{}}]"#,
    #""also":["widgets"],"stages":[{"share":0.1,"winner":{}}]"#,
    #""repeat":{"cron":"0 9 * * *"},"stages":[{"share":0.1,"wait":"1h","winner":{}}]"#,
    #""rate":5,"stages":[{"share":0.1,"winner":{}}]"#,
    #""localized":{"de":{"apns":{"payload":{"n":1}}}},"stages":[{"share":0.1,"winner":{"by":"accepted","minimum":1,"otherwise":"b"}}]"#,
  ])
  func variantsGoWith(more: String) throws {
    let all = try campaign(#""variants":[{"name":"a"},{"name":"b","weight":3,"apns":{"payload":{"n":2}}}],"# + more)
    expect(all.message.variants?.all.map(\.name) == ["a", "b"] && all.message.variants?.all.map(\.weight) == [1, 3])
    expect(all.message.content?.needsTarget, is: true)
  }

  @Test func aJobAloneAndARunOfOne() throws {
    let text = Array(
      (#"{"id":"c1","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"hi"}}},"variants":["#
        + #"{"name":"a"},{"name":"b","apns":{"payload":{"n":1}}}],"stages":[{"share":0.1,"winner":{}}]}"#).utf8)
    let alone = try CampaignJob.forSingleDevice(
      text, token: "aa01", of: "", suffix: "x", payload: Array(#"{"aps":{"badge":1}}"#.utf8), for: APNsService())
    expect(!String(decoding: alone, as: UTF8.self).contains("variants"))
    expect(try CampaignJob.parse(alone, .any([APNsService()])).message.variants, is: nil)
    func variants(_ job: [UInt8], _ id: String) -> CampaignVariants? { CampaignJob.variants(of: job, campaign: id) }
    expect(variants(text, "c1")?.all.count == 2 && variants(alone, "c1") == nil)
    expect(variants(text, "c1"), is: try CampaignJob.parse(text, .any([APNsService()])).message.variants)
    // Each run selects anew.
    expect(variants(text, "c1~20261201T0900") != variants(text, "c1"))
  }
}
