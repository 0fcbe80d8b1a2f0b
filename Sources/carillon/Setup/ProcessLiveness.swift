import Admin
import EventLoop
import PushWorker

extension Liveness.Part {
  /// Limit of a turn of an event loop or of Swift's executor. A turn takes milliseconds; on an overloaded machine, it
  /// takes a second. An orchestrator typically probes every 10 s and acts after three failures.
  static let turnLimit = FaultEnvironment.livenessLimit ?? .seconds(5)
  /// Limit of a call to Redis: twice the client's own time limits of 4 s for a connection and 5 s for an answer.
  static let redisCallLimit = Duration.seconds(20)

  /// Returns the check of whether an event loop executes a submitted task in time.
  static func loopCheck(_ name: String, of loop: EventLoop) -> Liveness.Part {
    Liveness.Part(name, within: turnLimit) { answer in loop.execute(answer) }
  }

  /// Returns the check of whether a call to Redis returns in time, with or without success. `/readyz` checks whether
  /// Redis answers.
  static func redisCall(of current: CurrentWorker) -> Liveness.Part {
    Liveness.Part("a call to Redis", within: redisCallLimit) { current.waitsForRedisSince }
  }

  /// Maximum time for which too many checks of jobs may exceed their own time limit. A check that is only slow ends
  /// within this time. Only a restart of the process ends an endless check.
  static let overdueChecksLimit = Duration.seconds(60)

  /// The check of whether too many jobs keep cores busy.
  static let jobChecks = Liveness.Part("checks of jobs", within: overdueChecksLimit) { OverdueChecks.since }
}
