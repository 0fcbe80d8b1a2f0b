@testable import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// The phases of a worker from its start to its end.
@Suite struct WorkerLifeTests {
  @Test func workerStopsOnce() {
    var life = WorkerLife()
    expect(!life.isStopping)
    let stops = [life.stop(), life.stop()]
    expect(stops, is: [true, false])
    life.finish()
    expect(life.isFinished && !life.hasEnded)
    life.end()
    expect(life.hasEnded)
    life.finish()
    expect(life.hasEnded)
  }

  /// The worker reads answers that came while its process was suspended before it considers their pushes in doubt.
  @Test func resumedProcessReadsPendingAnswers() {
    expect(WorkerLife.grace(after: .milliseconds(10_020), of: .seconds(10)), is: .zero)
    expect(WorkerLife.grace(after: .seconds(18), of: .seconds(10)), is: .seconds(1))
    expect(WorkerLife.grace(after: .seconds(3), of: .zero), is: .seconds(1))
  }
}
