@testable import CampaignStore
import Synchronization
import TestSupport

/// Decides in which order the steps of several callers of a store are done, by chance that can be repeated: each caller
/// waits before each step until it is its turn, so it may stand still for as long as others need. Some are killed.
final class StepTurns: Sendable {
  /// What a killed caller's step throws.
  struct Killed: Error {}

  private struct State {
    var seed: Seed
    /// Callers that have not ended.
    var live: Int
    var waiting: [(caller: Int, turn: CheckedContinuation<Bool, Never>)] = []
    var killable: Set<Int>
  }

  private let state: Mutex<State>
  /// One of so many steps of a caller that may be killed is its last.
  private static let stepsBeforeDeath = 12

  /// - Parameters:
  ///   - callers: how many there are.
  ///   - killable: those that may be killed.
  init(callers: Int, killable: Set<Int>, _ seed: Seed) {
    state = Mutex(State(seed: seed, live: callers, killable: killable))
  }

  /// Does what a caller has to do, step by step.
  ///
  /// - Returns: false when it was killed.
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

  /// Gives a turn when all live callers wait for one.
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
