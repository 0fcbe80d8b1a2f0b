@testable import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// The campaigns that a worker declines.
@Suite struct DeclinesTests {
  @Test func declineAppliesToItsRoundAndIsRaisedOnce() {
    var declines = Declines()
    let raised = [
      declines.add("a", round: 0, reason: "r", hint: "", at: 1),
      declines.add("a", round: 0, reason: "s", hint: "", at: 2),
    ]
    expect(raised, is: [true, false])
    expect(declines.declined["a"], is: .init(round: 0, reason: "r", hint: "", since: 1))
    expect(declines.applies(to: "a", round: 0))
    // After a resume the worker tries the campaign again, and may decline it again.
    expect(!declines.applies(to: "a", round: 1))
    let again = declines.add("a", round: 1, reason: "r", hint: "", at: 3)
    expect(again && declines.campaigns == ["a"])
    let dropped = [declines.drop("a"), declines.drop("a")]
    expect(dropped, is: [true, false])
  }
}
