import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension UsersCommand {
  /// The command `carillon users erase`.
  struct Erase: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "erase", abstract: "Erase all data of a user. Exits with 1 if the user has no data.",
      discussion: """
        Removes the user's devices, attributes, entries in segments and suppression lists, receipts, results and \
        entries of the feedback list. Also removes the user's targets in running and ended campaigns. Counters do not \
        change. If a worker is reading the user for a campaign at the same time, a housekeeping task completes the \
        erasure later. The output then shows the latest time of completion. The erasure can't be undone. Repeating the \
        command is safe.

        Example:
          carillon users erase 4711 --yes
        """)

    static let effect = Effect.changes([.userErase])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The user's id.") var user: String
    @Flag(help: "Don't ask for confirmation.") var yes = false

    func run() async throws {
      let user = try UserArgument.read(user)
      let store = try await global.openStore(changing: true)
      try Confirmation.obtain(
        yes, for: "this erases all data of \(Excerpt.quoted(user)) and can't be undone", refusal: "nothing was removed")
      let erased = try await store.erasure.erase(user)
      guard !erased.isNothing else {
        throw CommandError(
          .notFound, "there is no user \(Excerpt.quoted(user))", hint: "nothing was removed; check the user's id")
      }
      await AuditTrail(store).record(erased: erased, by: .commandLine)
      let report = ErasureReport(user: user, erased: erased)
      try StandardOutput.printLine(global.json ? report.json : report.text)
    }
  }
}
