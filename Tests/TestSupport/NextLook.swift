import Dispatch

/// Waits for a moment between two checks of a condition. Without the pause, polling would keep a core busy that the
/// tested code needs: eight tests share two cores.
///
/// Use it only if there is no signal. No test may depend on its duration.
///
/// - Parameter pause: in ms, longer than the check itself takes. The default is for a check with a command.
public func nextPoll(milliseconds pause: Int = 20) async {
  await withCheckedContinuation { continuation in
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(pause)) { continuation.resume() }
  }
}
