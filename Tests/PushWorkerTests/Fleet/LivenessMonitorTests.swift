@testable import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// Detection of processes that have ended.
@Suite struct LivenessMonitorTests {
  private func state(_ name: String, _ nonce: String = "a", listens: Bool = false, at heartbeat: Int) -> PresenceState {
    PresenceState(instance: WorkerInstance(name: name, nonce: nonce), isListening: listens, heartbeat: heartbeat)
  }

  @Test func workerMissingTwiceWithoutAHeartbeatIsDead() {
    var watch = LivenessMonitor()
    let gone = [
      watch.check([state("dead", at: 7), state("slow", at: 7), state("well", listens: true, at: 7)]),
      watch.check([state("dead", at: 7), state("slow", at: 8), state("well", at: 7)]),
      watch.check([state("slow", at: 9), state("well", listens: true, at: 7)]),
      watch.check([state("slow", at: 9), state("well", at: 7)]),
    ]
    expect(gone.map { $0.map(\.name) }, is: [[], ["dead"], [], ["slow"]])
  }

  @Test func laterProcessOfANameIsAnotherInstance() {
    var watch = LivenessMonitor()
    let gone = [watch.check([state("w", "a", at: 7)]), watch.check([state("w", "b", at: 7)])]
    expect(gone, is: [[], []])
    watch.reset()
    let again = watch.check([state("w", "b", at: 7)])
    expect(again.isEmpty)
  }
}
