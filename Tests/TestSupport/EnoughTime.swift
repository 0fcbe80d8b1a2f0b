/// Runs a scenario whose first steps must be done before a time that the scenario sets. A slow machine gets more time.
///
/// Use it only for a time that the product sets and that no test can change. If a test can change the time in the
/// store, it should do that.
///
/// - Parameter scenario: gets the number of seconds that it may set, and returns whether its steps were done in time.
///   Before it knows this result, it must not check expectations.
/// - Throws: errors of the scenario, and `TestSupportError` if even the longest time was too short.
public func withEnoughTime(_ scenario: (_ seconds: Int) async throws -> Bool) async throws {
  // The first is enough on a quiet machine, the last on a machine ten times as slow.
  for seconds in [5, 15, 45] where try await scenario(seconds) { return }
  throw TestSupportError("the steps of the scenario took longer than 45 s")
}
