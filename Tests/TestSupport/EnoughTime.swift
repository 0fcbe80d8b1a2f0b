/// Runs a scenario whose first steps must be done before a time that the scenario sets. A slow machine gets more time.
///
/// Use it only if the time belongs to the product and no test can move it. Otherwise move the time in the store.
///
/// - Parameter scenario: gets the number of seconds that it may set, and returns whether its steps were done in time.
///   It must not check expectations before it knows this.
/// - Throws: errors of the scenario, and `TestSupportError` if even the longest time was too short.
public func withEnoughTime(_ scenario: (_ seconds: Int) async throws -> Bool) async throws {
  // The first is enough on a quiet machine, the last on a machine ten times as slow.
  for seconds in [5, 15, 45] where try await scenario(seconds) { return }
  throw TestSupportError("the steps of the scenario took longer than 45 s")
}
