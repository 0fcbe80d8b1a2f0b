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

    func run() async throws { try await control(id, .pause, to: [.paused], reason: reason, by: who) }
  }

  /// `carillon campaign resume`.
  struct Resume: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lets a paused campaign go on; one whose time is still ahead is scheduled again.",
      discussion: """
        One that runs, and of which all but its test users wait, goes on with the others at once.

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

    func run() async throws {
      try await control(id, .resume, to: [.active, .scheduled], unguarded: unguarded, by: who)
    }
  }

  /// `carillon campaign cancel`.
  struct Cancel: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract:
        "Ends a campaign: targets that were not sent are recorded as cancelled, users not expanded yet never become targets. There is no way back.",
      discussion: """
        Returns when every worker has stopped sending it. A campaign that is scheduled never starts. A job that no \
        worker has taken in yet is taken off the queue, and its id is free again.
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "Why; shown with the campaign.") var reason = ""
    @OptionGroup var who: Who

    func run() async throws { try await control(id, .cancel, to: [.cancelled], reason: reason, by: who) }
  }

  /// `carillon campaign approve`.
  struct Approve: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lets a campaign go on that waits for approval, as it is large; not by who submitted it.",
      discussion: """
        Above how many targets that is the configuration says, apps.NAME.approval.above.

        Example:
          carillon campaign approve spring-sale-2026 --by grace
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
    @Option(help: "Who approves it.") var by: String

    func validate() throws { try Who.check(by) }

    func run() async throws {
      let store = try await global.openStore()
      try tell(id, try await store.approve(id, by: by), unconfirmed: [])
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
    _ id: String, _ verb: ControlVerb, to wanted: Set<CampaignState>, reason: String = "", unguarded: Bool = false,
    by who: CampaignCommand.Who
  ) async throws {
    let store = try await global.openStore()
    let lease = WorkerConfiguration.standardLease
    if try await store.campaign(id) == nil {
      if verb == .cancel, try await store.unqueue(id, patience: 2 * lease) {
        if !global.json { StandardError.write("it was in the queue, and is taken off: its id is free again\n") }
        return try tell(id, .cancelled, unconfirmed: [])
      }
      // A worker may have been quicker.
      guard try await store.campaign(id) != nil else { throw try await store.whereIs(id) }
    }
    let state: CampaignState
    var unconfirmed: [String] = []
    if verb == .resume {
      state = try await store.resume(id, unguarded: unguarded, by: who.by ?? "")
    } else {
      (state, unconfirmed) = try await store.controlEverywhere(
        id, verb, reason: reason, by: who.by ?? "", lease: lease)
    }
    guard wanted.contains(state) else {
      throw CommandError(
        .failed, "can't \(verb.rawValue) campaign \(Excerpt.quoted(id)): it is \(state.rawValue)",
        hint: state.isFinal
          ? "it has ended; a job under another id starts a new one" : "see: carillon campaign show \(id)")
    }
    if !unconfirmed.isEmpty {
      StandardError.write(
        """
        not confirmed within \(2 * lease / 1000) s by \(unconfirmed.joined(separator: ", ")): until they look at Redis \
        again they may go on sending it; see their logs\n
        """)
    }
    try tell(id, state, unconfirmed: unconfirmed)
  }

  fileprivate func tell(_ id: String, _ state: CampaignState, unconfirmed: [String]) throws {
    guard global.json else { return try StandardOutput.printLine("\(id) \(state.rawValue)") }
    var json = JSONWriter()
    json.beginObject()
    json.member("id", id)
    json.member("state", state.rawValue)
    json.name("unconfirmed")
    json.beginArray()
    for worker in unconfirmed { json.value(worker) }
    json.endArray()
    json.endObject()
    try StandardOutput.printLine(json.text)
  }
}
