@testable import CampaignStore
import PushCore
import Testing

@testable import PushWorker

/// Detection of processes that have ended.
@Suite struct LivenessMonitorTests {
  private func sight(_ name: String, _ nonce: String = "a", listens: Bool = false, at heartbeat: Int) -> PresenceSight {
    PresenceSight(instance: WorkerInstance(name: name, nonce: nonce), isListening: listens, heartbeat: heartbeat)
  }

  @Test func workerMissingTwiceWithoutAHeartbeatIsDead() {
    var watch = LivenessMonitor()
    let gone = [
      watch.check([sight("dead", at: 7), sight("slow", at: 7), sight("well", listens: true, at: 7)]),
      watch.check([sight("dead", at: 7), sight("slow", at: 8), sight("well", at: 7)]),
      watch.check([sight("slow", at: 9), sight("well", listens: true, at: 7)]),
      watch.check([sight("slow", at: 9), sight("well", at: 7)]),
    ]
    #expect(gone.map { $0.map(\.name) } == [[], ["dead"], [], ["slow"]])
  }

  @Test func laterProcessOfANameIsAnotherInstance() {
    var watch = LivenessMonitor()
    let gone = [watch.check([sight("w", "a", at: 7)]), watch.check([sight("w", "b", at: 7)])]
    #expect(gone == [[], []])
    watch.forget()
    let again = watch.check([sight("w", "b", at: 7)])
    #expect(again.isEmpty)
  }
}
