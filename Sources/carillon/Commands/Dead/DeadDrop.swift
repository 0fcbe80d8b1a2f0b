import ArgumentParser
import CampaignStore
import CommandSupport

extension DeadCommand {
  /// The command `carillon dead drop`.
  struct Drop: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "drop", abstract: "Delete jobs from the dead list. This can't be undone.",
      discussion: """
        With --all the command asks for confirmation, unless --yes is given.

        Examples:
          carillon dead drop 1763719200000-0 1763719200000-1
          carillon dead drop --all
        """)

    static let effect = Effect.changes([.deadDrop])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var selection: Selection
    @Flag(help: "Don't ask for confirmation.") var yes = false

    func run() async throws {
      let store = try await global.openStore()
      let keys = try await selection.selectedKeys(in: store)
      if selection.all, !keys.isEmpty {
        try Confirmation.obtain(
          yes, for: "this drops \(keys.count == 1 ? "1 job" : "\(keys.count.grouped) jobs") for good",
          refusal: "nothing was dropped")
      }
      try await DeadCommand.forEach(keys, in: store, .deadDrop, past: "dropped", json: global.json) { key in
        try await store.queue.dropDeadJob(key)
        return "dropped"
      }
    }
  }
}

extension DeadCommand.Selection {
  /// Returns the keys of the selected jobs, the oldest first.
  func selectedKeys(in store: CampaignStore) async throws -> [String] {
    guard all else { return keys }
    var keys: [String] = []
    try await store.queue.forEachDeadJob { keys.append($0.key) }
    return keys.reversed()
  }
}

extension DeadCommand {
  /// Applies `body` to jobs of the dead list. If one job fails, the command continues with the others.
  ///
  /// - Throws: if there is only one job, its error. Otherwise, an error with the number of failed jobs, after each
  ///   failure was reported. Both errors have the same exit status.
  static func forEach(
    _ keys: [String], in store: CampaignStore, _ action: AuditAction, past: String, json isJSON: Bool,
    _ body: (String) async throws -> String
  ) async throws {
    var done: [String] = []
    var failures: [CommandError] = []
    for key in keys {
      do {
        let result = try await body(key)
        done.append(key)
        if !isJSON { try StandardOutput.printLine("\(key) \(result)") }
      } catch {
        let error = CommandError(error)
        // The job is not the cause of these errors, so all other jobs would fail in the same way.
        if error.code == .unreachable || error.code == .defect { throw error }
        failures.append(error)
        if keys.count > 1 { StandardError.write(error.report(json: isJSON)) }
      }
    }
    await AuditTrail(store).record(action, dead: done, by: .commandLine)
    if isJSON { try StandardOutput.printLine(DeadJobReport.keys(done, as: past)) }
    if keys.count == 1, var failure = failures.first {
      // The arguments of the command are valid, but the job is not. The exit status is therefore that of a failed
      // action, not that of wrong usage.
      if failure.code.exitStatus != CommandError.Code.failed.exitStatus { failure.code = .failed }
      throw failure
    }
    guard failures.isEmpty else {
      throw CommandError(
        .failed, "\(failures.count) of \(keys.count) jobs were not \(past)",
        hint: "the errors above name each of them")
    }
    if keys.isEmpty, !isJSON { StandardError.write("the dead list is empty\n") }
  }
}
