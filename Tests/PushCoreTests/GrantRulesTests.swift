import PushCore
import TestKit
import Testing

/// Rules for grants of a campaign: its frequency caps and suppression lists.
struct GrantRulesTests {
  private static let caps = [
    FrequencyCap(most: 5, seconds: 86_400), FrequencyCap(category: "offers", most: 3, seconds: 7 * 86_400),
    FrequencyCap(category: "stories", most: 1, seconds: 3600),
  ]

  private func rules(
    _ category: String? = nil, audience: Audience = .users(["ada"]), lane: Lane = .normal, isTransactional: Bool = false
  ) -> GrantRules {
    GrantRules(
      Campaign(
        id: "a", app: "news", audience: audience, category: category, isTransactional: isTransactional, payload: [],
        lane: lane), caps: Self.caps)
  }

  @Test func capsOfTheCategoryAndOfTheWholeAppCount() {
    expect(rules().caps, is: [Self.caps[0]])
    expect(rules("offers").caps, is: Array(Self.caps[0...1]))
    expect(rules("other").caps, is: [Self.caps[0]])
    expect(rules("offers").countsUsers && rules("offers").category == "offers" && rules("offers").app == "news")
    // Counts of another campaign stay as long as its cap requires.
    expect(rules().memory, is: 7 * 86_400)
  }

  @Test func suppressionListsApplyUnlessTransactional() {
    expect(rules().suppression.map(\.segment), is: ["~news"])
    expect(rules("offers").suppression.map(\.segment), is: ["~news", "~news~offers"])
    expect(rules("offers", isTransactional: true).suppression.isEmpty)
  }

  @Test func capsIgnoreUrgentAndTransactionalCampaigns() throws {
    let token = try #require(DeviceToken(bytes: [1]))
    for rules in [
      rules("offers", lane: .urgent), rules(isTransactional: true), rules(audience: .tokens([token])),
      rules(audience: .channel("c")),
    ] {
      expect(rules.caps.isEmpty && !rules.countsUsers)
    }
    expect(rules("offers", lane: .bulk).countsUsers)
  }
}
