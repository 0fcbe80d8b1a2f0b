internal import CLinux

/// Clock of this machine.
public enum SystemClock {
  /// Whether a service such as chrony keeps the clock synchronised; `nil` if the system does not report it.
  public static var isKept: Bool? {
    switch carillon_clock_is_kept() {
    case 0: false
    case 1: true
    default: nil
    }
  }
}
