import APNs
@testable import PushCore
import TestKit
import Testing

/// Erasure of a user from the lists of a job. Everything else stays as it was written.
struct JobErasureTests {
  /// The audience before and after the erasure; `nil` if the job does not name the user.
  static let audiences: [(before: String, after: String?, concernsNoOtherUser: Bool)] = [
    (#"{"users":["ada","bob"]}"#, #"{"users":[{"erased":true},"bob"]}"#, false),
    (#"{"users":[ "ada" ]}"#, #"{"users":[ {"erased":true} ]}"#, true),
    (
      #"{"users":[{"user":"ada","vars":{"x":"Zanzibar"}},{"user":"bob"}]}"#,
      #"{"users":[{"erased":true},{"user":"bob"}]}"#, false
    ),
    (#"{"users":["\u0061da","ada","bob"]}"#, #"{"users":[{"erased":true},{"erased":true},"bob"]}"#, false),
    (#"{"users":[{"user":"ada","token":"00FF"}]}"#, #"{"users":[{"erased":true}]}"#, true),
    (#"{"users":[{"user":"bob","token":"00FF"}]}"#, #"{"users":[{"erased":true}]}"#, true),
    (#"{"tokens":["00FF","<00 ff>","00aa"]}"#, #"{"tokens":[{"erased":true},{"erased":true},"00aa"]}"#, false),
    (#"{"tokens":["00ff"]}"#, #"{"tokens":[{"erased":true}]}"#, true),
    (#"{"users":["adam","Ada"]}"#, nil, false), (#"{"segment":"ada"}"#, nil, false),
    (#"{"users":[{"erased":true},"bob"]}"#, nil, false),
  ]

  @Test(arguments: audiences.indices)
  func userLeavesTheLists(row: Int) throws {
    let (before, after, concernsNoOtherUser) = Self.audiences[row]
    let job = Array(
      #"{"id":"a","app":"news","audience":\#(before),"apns":{"payload":{"aps":{"alert":"ada"}}}}"#.utf8)
    let erased = try CampaignJob.erasing("ada", from: job) {
      APNsService().token($0).map { $0.bytes == [0, 0xff] } ?? false
    }
    guard let after else {
      expect(erased == nil)
      return
    }
    let text = #"{"id":"a","app":"news","audience":\#(after),"apns":{"payload":{"aps":{"alert":"ada"}}}}"#
    expect(erased.map { String(decoding: $0.job, as: UTF8.self) }, is: text)
    expect(erased?.concernsNoOtherUser, is: concernsNoOtherUser)
    // The result is still a valid job for the other users.
    let campaign = try CampaignJob.parse(Array(text.utf8), .any([APNsService()]))
    switch campaign.recipients.audience {
    case .users(let users):
      expect(users, is: concernsNoOtherUser ? [] : ["bob"])
      expect(campaign.recipients.token, is: nil)
    case .tokens(let tokens): expect(tokens.map(\.bytes), is: concernsNoOtherUser ? [] : [[0, 0xaa]])
    default: Issue.record("\(campaign.recipients.audience)")
    }
  }

  @Test(arguments: [
    #"{"user_ids":["bob"]}"#, #"{"users":"bob"}"#, #"{"users":[{"id":"bob"}]}"#, #"{"segment":"s","user":"bob"}"#, "[]",
  ])
  func recipientsOfAnotherFormAreReported(audience: String) {
    #expect(throws: UnreadableRecipients.self) {
      try CampaignJob.erasing("ada", from: Array(#"{"id":"a","audience":\#(audience)}"#.utf8)) { _ in false }
    }
  }

  @Test func userLeavesAStage() throws {
    let job = Array(
      #"{"id":"a","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"x"}}},"stages":[{"users":["ada"]}]}"#
        .utf8)
    let erased = try #require(try CampaignJob.erasing("ada", from: job) { _ in false })
    expect(!erased.concernsNoOtherUser)
    expect(!String(decoding: erased.job, as: UTF8.self).contains("ada"))
    let campaign = try CampaignJob.parse(erased.job, .any([APNsService()]))
    expect(campaign.delivery.stages != nil)
  }
}
