internal import Glibc

/// Clocks and timer of an ``AccessTokenSource``.
struct AccessTokenClock: Sendable {
  /// Monotonic milliseconds. The clock also runs while the machine is suspended.
  var now: @Sendable () -> Int
  /// Time of this machine in UNIX seconds.
  var wall: @Sendable () -> Int64
  /// Calls a function after a number of milliseconds, on any thread.
  var schedule: @Sendable (Int, @escaping @Sendable () -> Void) -> Void

  /// Clocks and timer of the system.
  static let system = AccessTokenClock(
    now: {
      var time = timespec()
      // clock_gettime(2): CLOCK_BOOTTIME includes the time in which the machine is suspended, because a token ages
      // during that time too.
      clock_gettime(CLOCK_BOOTTIME, &time)
      return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    },
    wall: { Int64(time(nil)) },
    schedule: { milliseconds, body in
      Task {
        try? await Task.sleep(for: .milliseconds(milliseconds))
        body()
      }
    })
}
