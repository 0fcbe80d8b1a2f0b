internal import CLinux

/// This machine's clock.
public enum SystemClock {
  /// Whether something keeps it right, such as chrony; `nil` where the system doesn't say.
  public static var isKept: Bool? {
    switch carillon_clock_is_kept() {
    case 0: false
    case 1: true
    default: nil
    }
  }
}
