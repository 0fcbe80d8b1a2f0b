@testable import CampaignStore
import Synchronization
import TestSupport

/// Random, repeatable order of the steps of several callers of a store. Each caller waits for its turn before each
/// step, so it may be suspended for as long as others need. Some callers are killed.
final class StepTurns: Sendable {
  /// Error that the step of a killed caller throws.
  struct Killed: Error {}

  private struct State {
    var seed: Seed
    /// The number of callers that have not ended.
    var live: Int
    var waiting: [(caller: Int, turn: CheckedContinuation<Bool, Never>)] = []
    var killable: Set<Int>
  }

  private let state: Mutex<State>
  /// The chance that a step of a killable caller is its last: one in this number.
  private static let stepsBeforeDeath = 12

  /// - Parameters:
  ///   - callers: the number of callers.
  ///   - killable: the callers that may be killed.
  init(callers: Int, killable: Set<Int>, _ seed: Seed) {
    state = Mutex(State(seed: seed, live: callers, killable: killable))
  }

  /// Runs the work of a caller step by step.
  ///
  /// - Returns: `false` if the caller was killed.
  func run(_ caller: Int, _ body: @Sendable () async throws -> Void) async throws -> Bool {
    defer {
      state.withLock { $0.live -= 1 }
      next()
    }
    do {
      try await StoreSteps.$beforeEach.withValue({ [self] in try await wait(caller) }, operation: body)
      return true
    } catch is Killed {
      return false
    }
  }

  private func wait(_ caller: Int) async throws {
    let lives = await withCheckedContinuation { turn in
      state.withLock { $0.waiting.append((caller, turn)) }
      next()
    }
    if !lives { throw Killed() }
  }

  /// Gives a turn if all live callers wait for one.
  private func next() {
    let chosen: (turn: CheckedContinuation<Bool, Never>, lives: Bool)? = state.withLock { state in
      guard state.live > 0, state.waiting.count == state.live else { return nil }
      state.waiting.sort { $0.caller < $1.caller }
      let place = Int.random(in: 0..<state.waiting.count, using: &state.seed)
      let (caller, turn) = state.waiting.remove(at: place)
      let dies =
        state.killable.contains(caller) && Int.random(in: 0..<Self.stepsBeforeDeath, using: &state.seed) == 0
      return (turn, !dies)
    }
    chosen?.turn.resume(returning: chosen?.lives ?? true)
  }
}
