import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension CampaignCommand {
  /// The command `carillon campaign decide`.
  struct Decide: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "decide", abstract: "Choose the winning variant. This can't be changed later.",
      discussion: """
        After the stage with "winner", Carillon chooses the variant for the later stages. Use this command to choose \
        it earlier, or if Carillon paused the campaign because the counts were too low. The campaign then continues. \
        `campaign show` prints the counts.

        Example:
          carillon campaign decide spring-sale-2026 b --by grace
        """)

    static let effect = Effect.changes([.campaignDecide])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Argument(help: "The variant's name.") var variant: String
    @OptionGroup var who: OperatorOptions

    func run() async throws {
      let store = try await global.openStore()
      let (decision, state) = try await store.campaigns.decide(id, variant: variant, by: who.by ?? "")
      await AuditTrail(store).record(.commandLine, .campaignDecide, id, detail: variant)
      let report = DecisionReport(id: id, variant: variant, state: state, decision: decision)
      try StandardOutput.printLine(global.json ? report.json : "\(id) \(state.rawValue): later stages get \(variant)")
    }
  }
}

/// Report of a chosen variant, for the command and the API.
struct DecisionReport: JSONReport {
  var id: String
  var variant: String
  var state: CampaignState
  var decision: VariantDecision

  func writeMembers(to json: inout JSONWriter) {
    json.member("id", id)
    json.member("state", state.rawValue)
    json.member("variant", variant)
    json.member("decidedAt", Timestamp.format(milliseconds: decision.at))
    json.member("decidedBy", decision.person)
  }
}
