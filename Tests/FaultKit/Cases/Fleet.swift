import Glibc
import Synchronization
import TestSupport

/// A constant number of workers. Each worker that dies is replaced.
public final class Fleet: Sendable {
  /// The world of the workers.
  public let world: FaultWorld
  private let stage: Stage
  private let size: Int
  private let reusesNames: Bool
  private struct Contents {
    var workers: [WorkerProcess] = []
    var started = 0
  }
  private let contents = Mutex(Contents())

  /// Starts the workers.
  ///
  /// - Parameters:
  ///   - size: number of workers.
  ///   - reusesNames: whether a new worker gets the name of the replaced one, or a new name.
  ///   - environment: additional environment variables of the first workers.
  public init(
    _ stage: Stage, _ world: FaultWorld, size: Int, reusesNames: Bool = false, environment: [String: String] = [:]
  ) async throws {
    self.stage = stage
    self.world = world
    self.size = size
    self.reusesNames = reusesNames
    for _ in 0..<size { try await add(name: nil, environment: environment) }
  }

  /// The current workers.
  public var workers: [WorkerProcess] { contents.withLock { $0.workers } }

  private func add(name: String?, environment: [String: String] = [:]) async throws {
    let number = contents.withLock { contents in
      contents.started += 1
      return contents.started
    }
    let worker = try await world.worker(name ?? "w\(number)", environment: environment)
    contents.withLock { $0.workers.append(worker) }
  }

  /// Kills a random worker and starts another one instead.
  ///
  /// - Returns: whether the kill fired.
  public func killOne() async throws -> Bool {
    guard let victim = stage.random(of: workers) else { return false }
    let fired = await world.kill(victim)
    contents.withLock { $0.workers.removeAll { $0 === victim } }
    try await add(name: reusesNames ? victim.name : nil)
    return fired
  }

  /// Kills all workers at the same moment and starts as many others.
  ///
  /// - Returns: number of kills that fired.
  public func killAll() async throws -> Int {
    let victims = workers
    // All signals are sent before the first wait. Otherwise later victims could react to the deaths of earlier ones.
    for victim in victims { victim.process.send(signal: SIGKILL) }
    var fired = 0
    for victim in victims where await victim.ended() == .signal(SIGKILL) { fired += 1 }
    contents.withLock { $0.workers = [] }
    for victim in victims { try await add(name: reusesNames ? victim.name : nil) }
    return fired
  }

  /// Starts a worker for each worker that has ended for any reason.
  ///
  /// - Parameter environment: environment of the new workers.
  /// - Returns: the dead workers.
  @discardableResult
  public func refill(environment: [String: String] = [:]) async throws -> [WorkerProcess] {
    let dead = workers.filter { $0.process.exit != nil }
    contents.withLock { contents in contents.workers.removeAll { worker in dead.contains { $0 === worker } } }
    for worker in dead { try await add(name: reusesNames ? worker.name : nil, environment: environment) }
    return dead
  }
}
