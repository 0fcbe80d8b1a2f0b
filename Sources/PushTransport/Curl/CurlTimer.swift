internal import Dispatch
internal import EventLoop

/// Timer of a multi handle (CURLMOPT_TIMERFUNCTION). It stores the time that libcurl requests, and is armed once per
/// turn.
struct CurlTimer {
  /// Whether libcurl has something to do now.
  private(set) var isDue = false
  private var deadline: UInt64?
  private var armedFor: UInt64?
  private let timer: LoopTimer

  init(_ timer: LoopTimer) {
    self.timer = timer
  }

  /// Stores the time that libcurl requests: a negative number ends the timer, and 0 is due immediately.
  mutating func set(milliseconds: Int) {
    deadline = milliseconds > 0 ? EventLoop.now + UInt64(milliseconds) * 1_000_000 : nil
    if milliseconds == 0 { isDue = true }
  }

  /// Handles the end of the armed time.
  mutating func fired(now: UInt64) {
    armedFor = nil
    if let deadline, now >= deadline {
      self.deadline = nil
      isDue = true
    }
  }

  /// Returns ``isDue`` and resets it.
  mutating func takeDue() -> Bool {
    defer { isDue = false }
    return isDue
  }

  /// Arms the timer for the time that libcurl requested.
  mutating func arm() {
    guard let deadline else { return }
    // An armed timer is only moved to an earlier time. If it fires before the deadline, the next turn arms it again.
    // libcurl changes the time with every push, and arming costs a system call.
    if let armedFor, armedFor <= deadline { return }
    armedFor = deadline
    let now = EventLoop.now
    timer.schedule(after: .nanoseconds(deadline > now ? Int(deadline - now) : 0))
  }
}
