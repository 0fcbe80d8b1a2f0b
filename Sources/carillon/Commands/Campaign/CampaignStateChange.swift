import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import PushWorker

extension CampaignCommand {
  /// The operator who changes a campaign.
  struct OperatorOptions: ParsableArguments {
    @Option(help: "The operator's name, recorded in the campaign's timeline.") var by: String?

    func validate() throws { if let by { try Self.check(by) } }

    static func check(_ name: String) throws {
      if let problem = PersonName.problem(name) { throw ValidationError("--by: \(problem).") }
    }
  }
}

extension CarillonCommand {
  /// Controls a campaign and prints its new state. Throws an error if the state of the campaign does not allow the
  /// action.
  func control(
    _ id: String, _ verb: ControlVerb, reason: String = "", unguarded: Bool = false, service: String? = nil,
    by who: CampaignCommand.OperatorOptions
  ) async throws {
    let store = try await global.openStore()
    let outcome = try await CampaignActions(store).carryOut(
      verb, on: id, reason: reason, unguarded: unguarded, service: service, by: who.by ?? "")
    await AuditTrail(store).record(
      verb, on: id, detail: CampaignActions.detail(reason, unguarded: unguarded, service: service), by: .commandLine)
    if outcome.wasQueued, !global.json {
      StandardError.write("the job was still in the queue and was removed; its id is free again\n")
    }
    if !outcome.unconfirmed.isEmpty {
      StandardError.write(
        """
        not confirmed within \(2 * WorkerConfiguration.standardLease / 1000) s by \
        \(outcome.unconfirmed.joined(separator: ", ")): they may continue to send the campaign until they can read \
        Redis again; see their logs\n
        """)
    }
    try StandardOutput.printLine(global.json ? outcome.json : outcome.text)
  }
}
