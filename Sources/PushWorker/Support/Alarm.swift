import Dispatch
import EventLoop

/// A loop's sleep, which others may cut short. Confined to the worker's loop.
final class Alarm {
  private let loop: EventLoop
  private var sleeper: CheckedContinuation<Void, Never>?
  private var isRung = false
  private let remembers: Bool

  /// - Parameter remembers: whether a ring while nobody sleeps ends the next sleep at once.
  init(on loop: EventLoop, remembers: Bool) {
    self.loop = loop
    self.remembers = remembers
  }

  /// Forgets a ring that nobody heard: what it was about is about to be looked at.
  func reset() { isRung = false }

  /// Suspends for so many ms, or until ``ring()``.
  ///
  /// - Parameter wake: calls ``ring()`` on the loop; the timer must not keep the worker alive.
  func sleep(
    milliseconds: Int, wake: @escaping @Sendable () -> Void, isolation: isolated (any Actor)? = #isolation
  ) async {
    if isRung {
      isRung = false
      return
    }
    let timer = LoopTimer(on: loop, handler: wake)
    timer.schedule(after: .milliseconds(milliseconds))
    await withCheckedContinuation { sleeper = $0 }
    timer.disarm()
    isRung = false
  }

  func ring() {
    if remembers, sleeper == nil { isRung = true }
    sleeper?.resume()
    sleeper = nil
  }
}
