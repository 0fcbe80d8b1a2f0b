import ArgumentParser
import CampaignStore
import CommandSupport

extension DeadCommand {
  /// `carillon dead drop`.
  struct Drop: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Takes jobs out of the list for good.",
      discussion: """
        Examples:
          carillon dead drop 1763719200000-0 1763719200000-1
          carillon dead drop --all
        """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var selection: Selection

    func run() async throws {
      let store = try await global.openStore()
      try await store.forEach(selection, verb: "dropped", json: global.json) { key in
        try await store.dropDeadJob(key)
        return "is dropped"
      }
    }
  }
}

extension CampaignStore {
  /// Does something to every selected job of the dead list, the oldest first; one that fails keeps none of the others
  /// from it.
  ///
  /// - Throws: the failure, when it is the only job; else how many failed, each having been told of.
  func forEach(
    _ selection: DeadCommand.Selection, verb: String, json isJSON: Bool, _ body: (String) async throws -> String
  ) async throws {
    var keys = selection.keys
    if selection.all {
      try await forEachDeadJob { keys.append($0.key) }
      keys.reverse()
    }
    var done: [String] = []
    var failures: [CommandError] = []
    for key in keys {
      do {
        let said = try await body(key)
        done.append(key)
        if !isJSON { try StandardOutput.printLine("\(key) \(said)") }
      } catch {
        let error = CommandError(error)
        // Nothing of this kind is the job's own fault, and all others would fail alike.
        if error.code == .unreachable || error.code == .defect { throw error }
        failures.append(error)
        if keys.count > 1 { StandardError.write(error.report(json: isJSON)) }
      }
    }
    if isJSON { try StandardOutput.printLine(DeadJobReport.keys(done, as: verb)) }
    if keys.count == 1, let failure = failures.first { throw failure }
    guard failures.isEmpty else {
      throw CommandError(
        .failed, "\(failures.count) of \(keys.count) jobs were not \(verb)", hint: "see above for each of them")
    }
    if keys.isEmpty, !isJSON { StandardError.write("the dead list is empty\n") }
  }
}
