import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import PushWorker

extension CampaignCommand {
  /// `carillon campaign pause`.
  struct Pause: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Pauses a campaign everywhere; what is in flight is still recorded.",
      discussion: "Returns when every worker has stopped sending it; a scheduled one stays where it is until resumed.")

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "Why; shown with the campaign.") var reason = ""
    @OptionGroup var who: Who

    func run() async throws { try await control(id, .pause, reason: reason, by: who) }
  }

  /// `carillon campaign resume`.
  struct Resume: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lets a paused campaign go on; one whose time is still ahead is scheduled again.",
      discussion: """
        A campaign that the gate behind a stage has paused goes on with the next stage. Any other pause leaves the gate as \
        it is.

        Whoever was refused before the campaign paused itself is sent to again. It pauses itself again when its answers \
        are still as bad; --unguarded takes APNs at its word instead: what is gone is removed, what is bad goes into \
        quarantine, however many there are, until the campaign ends or is resumed once more.

        Examples:
          carillon campaign show spring-sale
          carillon campaign resume spring-sale
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Flag(help: "Carry out every prune and quarantine, whatever their share.") var unguarded = false
    @OptionGroup var who: Who

    func run() async throws { try await control(id, .resume, unguarded: unguarded, by: who) }
  }

  /// `carillon campaign cancel`.
  struct Cancel: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract:
        "Ends a campaign: targets that were not sent are recorded as cancelled, users not expanded yet never become targets. There is no way back.",
      discussion: """
        Returns when every worker has stopped sending it. All stages and companions end with it, and of a repeated \
        campaign the last run. A campaign that is scheduled never starts. A job that no \
        worker has taken in yet is taken off the queue, and its id is free again.
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "Why; shown with the campaign.") var reason = ""
    @OptionGroup var who: Who

    func run() async throws { try await control(id, .cancel, reason: reason, by: who) }
  }

  /// `carillon campaign approve`.
  struct Approve: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Approve a campaign that needs approval. The approver must not be the submitter.",
      discussion: """
        A campaign needs approval when it has more targets than apps.NAME.approval.above says, and behind a stage with \
        "approval": true.

        Example:
          carillon campaign approve spring-sale-2026 --by grace
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "Who approves it.") var by: String

    func validate() throws { try Who.check(by) }

    func run() async throws {
      let store = try await global.openStore()
      let (shown, outcome) = try await store.approveShown(id, by: by)
      await store.note(.commandLine, "campaign.approve", id, detail: by)
      if !global.json { for line in shown { StandardError.write(Excerpt.harmless(line) + "\n") } }
      try StandardOutput.printLine(global.json ? outcome.json : "\(id) \(outcome.state.rawValue)")
    }
  }

  /// Who does something to a campaign.
  struct Who: ParsableArguments {
    @Option(help: "Who does it; noted in the campaign's timeline.") var by: String?

    func validate() throws { if let by { try Self.check(by) } }

    static func check(_ name: String) throws {
      if let problem = PersonName.problem(name) { throw ValidationError("--by: \(problem).") }
    }
  }
}

extension CarillonCommand {
  /// Controls a campaign and prints the state it is in; a verb that doesn't apply to its state fails.
  fileprivate func control(
    _ id: String, _ verb: ControlVerb, reason: String = "", unguarded: Bool = false, by who: CampaignCommand.Who
  ) async throws {
    let store = try await global.openStore()
    let outcome = try await store.carryOut(
      verb, on: id, reason: reason, unguarded: unguarded, by: who.by ?? "")
    await store.note(.commandLine, "campaign.\(verb.rawValue)", id, detail: unguarded ? "unguarded" : reason)
    if outcome.wasQueued, !global.json {
      StandardError.write("it was in the queue, and is taken off: its id is free again\n")
    }
    if !outcome.unconfirmed.isEmpty {
      StandardError.write(
        """
        not confirmed within \(2 * WorkerConfiguration.standardLease / 1000) s by \
        \(outcome.unconfirmed.joined(separator: ", ")): until they look at Redis again they may go on sending it; see \
        their logs\n
        """)
    }
    try StandardOutput.printLine(global.json ? outcome.json : outcome.text)
  }
}
