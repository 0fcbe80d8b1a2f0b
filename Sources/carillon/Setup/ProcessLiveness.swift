import Admin
import EventLoop

extension Liveness.Part {
  /// A turn of a loop, and of Swift's executor, takes milliseconds; on a machine that is short of processors a second. An
  /// orchestrator asks every ten seconds or so, and three times before it acts.
  static let turnLimit = FaultEnvironment.livenessLimit ?? .seconds(5)
  /// Twice what the client's own time limits allow a call to take: a connection within 4 s, an answer within 5 s.
  static let redisCallLimit = Duration.seconds(20)

  /// A loop must get to what is handed to it.
  static func turns(_ name: String, of loop: EventLoop) -> Liveness.Part {
    Liveness.Part(name, within: turnLimit) { answer in loop.execute(answer) }
  }

  /// A call to Redis must return, with or without success: whether Redis answers is for `/readyz` to say.
  static func redisCall(of watch: WorkerWatch) -> Liveness.Part {
    Liveness.Part("a call to Redis", within: redisCallLimit) { watch.waitsForRedisSince }
  }
}
