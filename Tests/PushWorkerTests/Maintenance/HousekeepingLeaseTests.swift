@testable import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// The lease on the housekeeping tasks.
@Suite struct HousekeepingLeaseTests {
  private func state(_ name: String, _ nonce: String = "a", listens: Bool = false, at heartbeat: Int) -> PresenceState {
    PresenceState(instance: WorkerInstance(name: name, nonce: nonce), isListening: listens, heartbeat: heartbeat)
  }

  @Test func everyPartitionIsSweptInTurn() {
    let housekeeping = HousekeepingLease()
    let looks = (0..<20).map { _ in housekeeping.nextPartitions(of: 10) }
    expect(looks.flatMap(\.partitions), is: Array(0..<10) + Array(0..<10))
    expect(looks.filter(\.isRare).flatMap(\.partitions), is: [0, 8, 0, 8])
  }

  /// A sweep takes the same time for any number of partitions.
  @Test func manyPartitionsAreSweptSeveralAtATime() {
    let housekeeping = HousekeepingLease()
    let looks = (0..<256).map { _ in housekeeping.nextPartitions(of: 16_384) }
    expect(looks.flatMap(\.partitions), is: Array(0..<16_384))
    expect(looks.count(where: \.isRare), is: 32)
  }

  @Test func nextLeaderContinuesTheSweep() {
    let (first, second) = (HousekeepingLease(), HousekeepingLease())
    _ = first.begin(HousekeepingProgress())
    for _ in 0..<3 { _ = first.nextPartitions(of: 10) }
    let became = [second.begin(first.progress), second.begin(HousekeepingProgress())]
    expect(became, is: [true, false])
    let next = second.nextPartitions(of: 10)
    expect(next.partitions, is: [3])
  }

  @Test func sweepsRunOnceASecondAndMissingSignalsCountSooner() {
    let housekeeping = HousekeepingLease()
    let second: UInt64 = 1_000_000_000
    let rounds = [0, 1, second / 2, second, 2 * second].map { housekeeping.isSweepDue($0) }
    expect(rounds, is: [true, false, false, true, true])
    housekeeping.receivedSignal(5 * second, next: 250)
    expect(housekeeping.untilMissing(5 * second), is: 700)
    expect(housekeeping.untilMissing(6 * second), is: 0)
    // A worker waits at most for the longest interval between signals.
    for next in [4000, 9_999_999] {
      housekeeping.receivedSignal(7 * second, next: next)
      expect(housekeeping.untilMissing(7 * second), is: 8200)
    }
    // A worker does not wait for a signal after a heartbeat has found no leader.
    housekeeping.receivedNoLeader()
    expect(housekeeping.untilMissing(7 * second), is: 0)
  }

  /// Returns the ms from each signal to the next in a fleet without campaigns; `nil` for each run without a signal.
  private func idleBeats(_ housekeeping: HousekeepingLease, looks: Int, fleet: Int) -> [Int?] {
    (0..<looks).map { _ in
      let beat = housekeeping.idleSignalDelay(fleet: fleet)
      _ = housekeeping.begin(HousekeepingProgress())
      if let beat { housekeeping.recordIdleSignal(next: beat) }
      _ = housekeeping.countRun()
      return beat
    }
  }

  @Test func idleFleetGetsASignalWithEveryFourthRun() {
    let housekeeping = HousekeepingLease()
    let beats = idleBeats(housekeeping, looks: 8, fleet: 16)
    expect(beats, is: [1000, nil, nil, nil, 1000, nil, nil, nil])
  }

  @Test func largerFleetGetsFewerSignals() {
    let between = [1, 16, 40, 60, 500].map { fleet in
      let housekeeping = HousekeepingLease()
      return idleBeats(housekeeping, looks: 40, fleet: fleet).compactMap(\.self).dropFirst().first
    }
    expect(between, is: [1000, 1000, 2500, 3750, 4000])
  }

  @Test func newLeaderSendsASignalImmediately() {
    let housekeeping = HousekeepingLease()
    _ = idleBeats(housekeeping, looks: 3, fleet: 500)
    housekeeping.end(1)
    let beat = housekeeping.idleSignalDelay(fleet: 500)
    expect(beat, is: 4000)
  }

  /// In a fleet without campaigns, the next signal may be four seconds away.
  @Test func workerWithSlicesDetectsMissingSignalsSooner() {
    let housekeeping = HousekeepingLease()
    let second: UInt64 = 1_000_000_000
    housekeeping.receivedSignal(5 * second, next: 4000)
    let isSooner = [6, 7].map { housekeeping.recordBusy($0 * second) }
    expect(isSooner, is: [true, false])
    expect(housekeeping.untilMissing(6 * second), is: 700)
    housekeeping.recordIdle()
    expect(housekeeping.untilMissing(6 * second), is: 7200)
    // Signals of a running campaign change nothing.
    housekeeping.receivedSignal(8 * second, next: 250)
    let isSoonerStill = housekeeping.recordBusy(8 * second)
    expect(!isSoonerStill)
    expect(housekeeping.untilMissing(8 * second), is: 700)
  }

  /// The former leader, whose process has ended, is found without another run.
  @Test func newLeaderChecksWorkersWithEverySecondRun() {
    var (housekeeping, watch) = (HousekeepingLease(), LivenessMonitor())
    let looks = (0..<2).map { _ in watch.check([state("before", at: 7)]).map(\.name) }
    expect(looks, is: [[], ["before"]])
    _ = housekeeping.begin(HousekeepingProgress())
    let around = (0..<4).map { _ in housekeeping.countRun() }
    expect(around, is: [true, false, true, false])
    let gone = watch.check([state("before", at: 7), state("well", listens: true, at: 7)])
    expect(gone.map(\.name), is: ["before"])
    // The same happens when the worker becomes the leader again.
    _ = housekeeping.countRun()
    housekeeping.end(1)
    _ = housekeeping.begin(HousekeepingProgress())
    let again = housekeeping.countRun()
    expect(again)
  }
}
