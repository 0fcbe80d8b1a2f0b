import Glibc
import Synchronization
import TestSupport

/// Workers that are kept at a number: whoever dies is replaced at once.
public final class Fleet: Sendable {
  /// Where they work.
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
  ///   - size: how many.
  ///   - reusesNames: whether a new worker is called as the one it replaces, or as nobody before.
  ///   - environment: of the first workers.
  public init(
    _ stage: Stage, _ world: FaultWorld, size: Int, reusesNames: Bool = false, environment: [String: String] = [:]
  ) async throws {
    self.stage = stage
    self.world = world
    self.size = size
    self.reusesNames = reusesNames
    for _ in 0..<size { try await add(name: nil, environment: environment) }
  }

  /// The workers as they are now.
  public var workers: [WorkerProcess] { contents.withLock { $0.workers } }

  private func add(name: String?, environment: [String: String] = [:]) async throws {
    let number = contents.withLock { contents in
      contents.started += 1
      return contents.started
    }
    let worker = try await world.worker(name ?? "w\(number)", environment: environment)
    contents.withLock { $0.workers.append(worker) }
  }

  /// Kills a random worker and starts another in its place.
  ///
  /// - Returns: whether the kill fired.
  public func killOne() async throws -> Bool {
    guard let victim = stage.random(of: workers) else { return false }
    let fired = await world.kill(victim)
    contents.withLock { $0.workers.removeAll { $0 === victim } }
    try await add(name: reusesNames ? victim.name : nil)
    return fired
  }

  /// Kills all workers in the same moment and starts as many others.
  ///
  /// - Returns: how many kills fired.
  public func killAll() async throws -> Int {
    let victims = workers
    // One after the other would let the later ones see the earlier ones die.
    for victim in victims { victim.process.send(signal: SIGKILL) }
    var fired = 0
    for victim in victims where await victim.ended() == .signal(SIGKILL) { fired += 1 }
    contents.withLock { $0.workers = [] }
    for victim in victims { try await add(name: reusesNames ? victim.name : nil) }
    return fired
  }

  /// Starts a worker for every one that has died by whatever hand.
  ///
  /// - Parameter environment: for the new ones.
  /// - Returns: the dead.
  @discardableResult
  public func refill(environment: [String: String] = [:]) async throws -> [WorkerProcess] {
    let dead = workers.filter { $0.process.exit != nil }
    contents.withLock { contents in contents.workers.removeAll { worker in dead.contains { $0 === worker } } }
    for worker in dead { try await add(name: reusesNames ? worker.name : nil, environment: environment) }
    return dead
  }
}
