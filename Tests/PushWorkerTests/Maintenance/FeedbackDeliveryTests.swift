@testable import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// Times at which prunes are delivered.
@Suite struct FeedbackDeliveryTests {
  @Test func prunesAreDeliveredTogether() {
    var prunes = UndeliveredPrunes()
    for partition in 0..<63 { prunes.insert(partition) }
    prunes.insert(3)
    expect(!prunes.isDue)
    prunes.insert(63)
    expect(prunes.isDue)
  }
}
