import Glibc

/// The clock of this machine, which Redis and the simulator also use.
enum WallClock {
  /// Seconds since 1970 (clock_gettime(2)).
  static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
