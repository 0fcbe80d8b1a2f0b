import Dispatch

/// Checks a condition repeatedly until it is true. Prefer to wait for a signal.
///
/// The condition must stay true. A test that polls for a passing state can miss it on a busy machine.
///
/// - Parameters:
///   - what: description for the error message: "waited 300 s in vain until \(what)".
///   - limit: limit of the wait. No test may depend on its value.
///   - pause: shortest time between two checks, see ``elapse(afterCheckSince:atLeast:)``.
///   - condition: its errors end the wait.
/// - Throws: `TestSupportError` after the limit, `CancellationError` after the time limit of the test, and errors of
///   the condition.
public func poll(
  until what: String, within limit: Duration = .seconds(300), every pause: Duration = .milliseconds(20),
  _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  var start = ContinuousClock.now
  while try await !condition() {
    try Task.checkCancellation()
    guard ContinuousClock.now < deadline else {
      throw TestSupportError("waited \(limit.components.seconds) s in vain until \(what)")
    }
    await elapse(afterCheckSince: start, atLeast: pause)
    start = .now
  }
}

/// Longest time between two checks, if the caller asks for no longer one. A passing state that a fault test needs lasts
/// longer.
private let longestPause = Duration.milliseconds(250)

/// Waits between two checks: three times as long as the last check took, but at most 250 ms. A check of up to 80 ms
/// therefore uses at most a quarter of a core. Eight tests share two cores, and a check that reads a whole campaign takes
/// longer than a usual pause.
///
/// - Parameters:
///   - start: the start of the last check.
///   - pause: the shortest wait.
public func elapse(afterCheckSince start: ContinuousClock.Instant, atLeast pause: Duration) async {
  await elapse(max(pause, min((ContinuousClock.now - start) * 3, longestPause)))
}

/// Waits for a duration. Only for faults that *are* a duration, for the pace of injections, and between two checks.
public func elapse(_ duration: Duration) async {
  let (seconds, attoseconds) = duration.components
  let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
  await withCheckedContinuation { continuation in
    DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { continuation.resume() }
  }
}
