@testable import CampaignStore
import PushCore
import Testing

@testable import PushWorker

/// How far a worker is from its start to its end.
@Suite struct WorkerLifeTests {
  @Test func workerStopsOnce() {
    var life = WorkerLife()
    #expect(!life.isStopping)
    let stops = [life.stop(), life.stop()]
    #expect(stops == [true, false])
    life.finish()
    #expect(life.isFinished && !life.hasEnded)
    life.end()
    #expect(life.hasEnded)
    life.finish()
    #expect(life.hasEnded)
  }

  /// Answers that came while the process stood still are read before their pushes are called in doubt.
  @Test func processThatStoodStillReadsWhatHasCome() {
    #expect(WorkerLife.grace(after: .milliseconds(10_020), of: .seconds(10)) == .zero)
    #expect(WorkerLife.grace(after: .seconds(18), of: .seconds(10)) == .seconds(1))
    #expect(WorkerLife.grace(after: .seconds(3), of: .zero) == .seconds(1))
  }
}
