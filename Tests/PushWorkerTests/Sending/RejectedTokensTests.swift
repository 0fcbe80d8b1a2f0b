import APNs
import PushCore
import TestKit
import Testing

@testable import PushWorker

@Suite struct RejectedTokensTests {
  private func token(_ number: Int) -> ArraySlice<UInt8> { WorkerRig.token(number)[...] }

  @Test func containsOnlyRejectedTokens() {
    var rejected = RejectedTokens()
    expect(!rejected.contains(token(1)))
    for number in 0..<1000 { rejected.insert(token(number)) }
    // With a thousand tokens in a thousand slots, some displace each other.
    expect((0..<1000).count { rejected.contains(token($0)) } > 980)
    expect(!(1000..<5000).contains { rejected.contains(token($0)) })
  }

  @Test func latestRejectionsDisplaceOlderOnes() {
    var rejected = RejectedTokens(capacity: 16)
    for number in 0..<1000 { rejected.insert(token(number)) }
    expect(rejected.contains(token(999)))
    expect((0..<1000).count { rejected.contains(token($0)) } <= 16)
  }
}
