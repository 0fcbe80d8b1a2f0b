@testable import CampaignStore
import PushCore
import Testing

@testable import PushWorker

/// The campaigns that a worker declines.
@Suite struct ObjectionsTests {
  @Test func declineAppliesToItsGenerationAndIsRaisedOnce() {
    var objections = Objections()
    let raised = [
      objections.raise("a", round: 0, reason: "r", remedy: "", at: 1),
      objections.raise("a", round: 0, reason: "s", remedy: "", at: 2),
    ]
    #expect(raised == [true, false])
    #expect(objections.raised["a"] == .init(round: 0, reason: "r", remedy: "", since: 1))
    #expect(objections.applies(to: "a", round: 0))
    // After a resume the worker tries the campaign again and may decline it again.
    #expect(!objections.applies(to: "a", round: 1))
    let again = objections.raise("a", round: 1, reason: "r", remedy: "", at: 3)
    #expect(again && objections.campaigns == ["a"])
    let dropped = [objections.drop("a"), objections.drop("a")]
    #expect(dropped == [true, false])
  }
}
